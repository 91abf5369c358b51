"""One take: a scenario played once by a framework's driver, with what was exported and what was true."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from recordings.record.environments import Environment
from recordings.record.framework import Framework
from recordings.record.model_server import ModelServer
from recordings.record.scenarios import Scenario, expected_of
from recordings.record.sink import Sink, length_delimited

#: As in the recordings that came first; every take is of the same service.
_RESOURCE = (
    "service.name=orla-support,service.version=1.4.2,service.namespace=fjordkraft,"
    "deployment.environment.name=test"
)


@dataclass(frozen=True)
class Take:
    """Export requests by signal, byte for byte, and the lines that model server and tools wrote."""

    scenario: Scenario
    expected: dict[str, Any]
    requests: dict[str, list[bytes]]
    truth: list[dict[str, Any]]
    exit_code: int
    said: str
    """The end of what the driver printed, to see why it failed."""

    def deviations(self) -> list[str]:
        """Where the framework left the script: calls of the model or of tools that the script does not have."""
        names = [name for name in self.expected["tool_names_in_order"] if name != "HANDOFF"]
        ran = [line["tool"] for line in self.truth if line["kind"] == "tool"]
        asked = sum(line["kind"] == "llm" for line in self.truth)
        found = []
        if sorted(ran) != sorted(names):
            found.append(f"tools that ran: {', '.join(ran)}")
        if asked != self.expected["llm_calls"]:
            found.append(f"{asked} model calls, {self.expected['llm_calls']} in the script")
        return found


def play(scenario: Scenario, framework: Framework, environment: Environment, seconds: float = 180) -> Take:
    """Run the framework's driver on a scenario and return what came of it."""
    return play_command(scenario, framework, environment.command(), seconds)


def play_command(scenario: Scenario, framework: Framework, command: list[str], seconds: float) -> Take:
    """Run a command as the driver."""
    with TemporaryDirectory() as folder:
        truth = Path(folder) / "truth.jsonl"
        truth.touch()
        with Sink() as sink, ModelServer(scenario, truth, framework.response_model) as model:
            is_grpc = framework.protocol == "grpc"
            told = {
                **{name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ},
                "HOME": folder,
                "OPENAI_API_KEY": "none",
                "ANTHROPIC_API_KEY": "none",
                "GOOGLE_API_KEY": "none",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                "OPENAI_BASE_URL": f"{model.url}/v1",
                "ANTHROPIC_BASE_URL": model.url,
                "KIT_MODEL": framework.request_model,
                "KIT_MODEL_URL": model.url,
                "KIT_SCENARIO": scenario.name,
                "KIT_TURNS": json.dumps([turn.user for turn in scenario.turns]),
                "KIT_TRUTH": str(truth),
                "OTEL_EXPORTER_OTLP_ENDPOINT": sink.grpc_url if is_grpc else sink.http_url,
                "OTEL_EXPORTER_OTLP_PROTOCOL": framework.protocol,
                "OTEL_RESOURCE_ATTRIBUTES": _RESOURCE,
                **framework.settings,
            }
            try:
                done = subprocess.run(
                    command,
                    check=False,
                    env=told,
                    cwd=folder,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=seconds,
                )
                code, said = done.returncode, done.stdout
            except subprocess.TimeoutExpired as late:
                code, said = -1, late.stdout or b""
        lines = truth.read_text(encoding="utf-8").splitlines()
    return Take(
        scenario=scenario,
        expected=expected_of(
            scenario, framework.request_model, framework.response_model, framework.answers_apart
        ),
        requests={signal: bodies for signal, bodies in sink.kept.items() if bodies},
        truth=[json.loads(line) for line in lines],
        exit_code=code,
        said=said.decode("utf-8", "replace")[-3000:],
    )


def keep(take: Take, name: str, versions: dict[str, str], folder: Path) -> None:
    """Write a take below the folder, in the form of all recordings, and its entry into the folder's manifest."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    scenario = take.scenario.name
    files = {}
    for signal in ("traces", "logs"):
        if signal in take.requests:
            files[signal] = f"{name}/{scenario}.{signal}.pb.gz"
            (folder / files[signal]).write_bytes(_packed(length_delimited(take.requests[signal])))
    truth = f"{name}/{scenario}.truth.jsonl.gz"
    lines = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in take.truth)
    (folder / truth).write_bytes(_packed(lines.encode()))
    entry = {
        "framework": name,
        "scenario": scenario,
        "versions": versions,
        "files": files,
        "truth": truth,
        "expected": take.expected,
        "deviations_from_script": take.deviations(),
    }
    _list(entry, folder / "MANIFEST.json")


def _packed(data: bytes) -> bytes:
    """Compress without a time of day, so that equal takes are equal files."""
    return gzip.compress(data, mtime=0)


def _list(entry: dict[str, Any], manifest: Path) -> None:
    listed = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {"recordings": []}
    key = (entry["framework"], entry["scenario"])
    others = [other for other in listed["recordings"] if (other["framework"], other["scenario"]) != key]
    manifest.write_text(
        json.dumps({**listed, "recordings": [*others, entry]}, indent=1, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )
