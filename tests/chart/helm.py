"""Helm as the tests use it: a chart and values in, objects out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from chart.fetched import TOP

CHART = TOP / "helm" / "retrospan"
Values = Mapping[str, Any]
Object = dict[str, Any]


class Refused(Exception):
    """Helm would not; the message is Helm's."""


@dataclass(frozen=True)
class Release:
    """What Helm made of the chart."""

    objects: tuple[Object, ...]
    hooks: tuple[Object, ...]
    notes: str

    def of(self, kind: str, ending: str = "") -> Object:
        """The one object of a kind whose name ends so."""
        found = [
            one for one in self.everything if one["kind"] == kind and one["metadata"]["name"].endswith(ending)
        ]
        assert len(found) == 1, [one["metadata"]["name"] for one in found]
        return found[0]

    @property
    def everything(self) -> tuple[Object, ...]:
        return self.objects + self.hooks

    @property
    def kinds(self) -> set[str]:
        return {one["kind"] for one in self.everything}

    def pods(self) -> dict[str, Object]:
        """The specification of every pod there will be, by kind and name of what makes it."""
        found: dict[str, Object] = {}
        for one in self.everything:
            spec = one.get("spec", {})
            if one["kind"] == "CronJob":
                spec = spec["jobTemplate"]["spec"]
            pod = spec if one["kind"] == "Pod" else spec.get("template", {}).get("spec")
            if pod is not None:
                found[f"{one['kind']} {one['metadata']['name']}"] = pod
        return found


class Helm:
    """A running engine. Close it with the tests."""

    def __init__(self, library: Path) -> None:
        self._made: dict[str, Release] = {}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("helm_engine.py")), str(library)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "HELM_DRIVER": "memory"},
        )

    def close(self) -> None:
        self._process.communicate()

    def lint(self) -> list[int]:
        """How bad each of Helm's remarks on the chart is: 1 is a hint, 2 a warning, 3 an error."""
        found = self._told({"do": "lint", "chart": str(CHART)})
        return [remark["Severity"] for remark in found["Messages"] or []]

    def install(self, values: Values, *, kubernetes: str = "1.37") -> Release:
        """The release with these values; the same one when it is asked for again."""
        key = json.dumps([values, kubernetes], sort_keys=True)
        if key not in self._made:
            self._made[key] = self.upgrades([values], kubernetes=kubernetes)[0]
        return deepcopy(self._made[key])

    def upgrades(
        self, values: Sequence[Values], *, kubernetes: str = "1.37", release: str = "trace"
    ) -> list[Release]:
        """Install with the first values, upgrade with each of the others.

        Raises:
            Refused: the values are not of the schema, or the chart refuses them.
        """
        order = {"do": "render", "chart": str(CHART), "release": release, "kubernetes": kubernetes}
        return [_release(made) for made in self._told({**order, "values": list(values)})]

    def _told(self, order: Mapping[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "refused" in answer:
            raise Refused(answer["refused"])
        return answer["made"]


def _release(made: Mapping[str, Any]) -> Release:
    hooks = [one for hook in made["hooks"] or [] for one in _objects(hook["manifest"])]
    objects = _objects(made["manifest"])
    return Release(tuple(objects), tuple(hooks), made["info"].get("notes", ""))


def _objects(text: str) -> list[Object]:
    # The parser in C: the other one takes a second for all the dashboards.
    return [one for one in yaml.load_all(text, yaml.CSafeLoader) if one]


def settings(release: Release, part: str = "collector") -> dict[str, Any]:
    """The TOML file of a process."""
    (text,) = (
        one["data"][f"{part}.toml"]
        for one in release.objects
        if one["kind"] == "ConfigMap" and f"{part}.toml" in one["data"]
    )
    return tomllib.loads(text)
