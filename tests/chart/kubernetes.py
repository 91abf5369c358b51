"""What an object of Kubernetes has to look like, by the strict schemas of one version; and what may not change in it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from chart.fetched import kubernetes_schemas
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

#: All that may be changed in a StatefulSet.
_FREE = frozenset(
    {
        "minReadySeconds",
        "ordinals",
        "persistentVolumeClaimRetentionPolicy",
        "replicas",
        "revisionHistoryLimit",
        "template",
        "updateStrategy",
    }
)
#: Not of Kubernetes itself: what we use of it, as its operator describes it.
_SERVICE_MONITOR = {
    "type": "object",
    "required": ["selector", "endpoints"],
    "additionalProperties": False,
    "properties": {
        "selector": {"type": "object", "required": ["matchLabels"]},
        "endpoints": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "port": {"type": "string"},
                    "path": {"type": "string", "pattern": "^/"},
                    "scheme": {"enum": ["http", "https"]},
                    "interval": {"type": "string"},
                    "authorization": {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {
                            "type": {"type": "string"},
                            "credentials": {"type": "object", "required": ["name", "key"]},
                        },
                    },
                    "tlsConfig": {"type": "object"},
                },
            },
        },
    },
}

_MONITORS: Validator = Draft202012Validator(_SERVICE_MONITOR)


@cache
def _definitions(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))["$defs"]


@cache
def _validator(kubernetes: str, group: str, version: str, kind: str) -> Validator:
    definitions = _definitions(kubernetes_schemas()[kubernetes])
    wanted = {"group": group, "kind": kind, "version": version}
    (name,) = (
        name
        for name, schema in definitions.items()
        if wanted in schema.get("x-kubernetes-group-version-kind", [])
    )
    return Draft202012Validator({"$defs": definitions, "$ref": f"#/$defs/{name}"})


def faults(one: dict[str, Any], kubernetes: str) -> list[str]:
    """What is wrong with an object in this version; empty when nothing is."""
    group, _, version = one["apiVersion"].rpartition("/")
    is_monitor = one["kind"] == "ServiceMonitor"
    validator = _MONITORS if is_monitor else _validator(kubernetes, group, version, one["kind"])
    checked = one["spec"] if is_monitor else one
    name = f"{one['kind']} {one['metadata']['name']}"
    return [
        f"{name} {'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"
        for error in validator.iter_errors(checked)
    ]


def settled(one: dict[str, Any]) -> Any:
    """What the API server lets nobody change in an object of this kind, once it is made."""
    spec = one.get("spec", {})
    if one["kind"] == "StatefulSet":
        return {name: value for name, value in spec.items() if name not in _FREE}
    if one["kind"] == "Deployment":
        return spec["selector"]
    if one["kind"] == "Service":
        return spec.get("clusterIP")
    if one["kind"] == "Secret":
        return one.get("type")
    return None
