"""A real OpenTelemetry Collector: built once with Go, and run with the settings of docs/collector.md."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from collector.far_end import free_address
from collector.full_spans import wait_listening
from docs.pages import TOP, Page

MANIFEST = Path(__file__).with_name("otelcol.yaml")
_BUILDER = "go.opentelemetry.io/collector/cmd/builder@v0.161.0"
_BUILD_SECONDS = 900
#: What Go says when a module cannot be had; anything else is a fault of the manifest.
_UNREACHABLE = (
    "dial tcp",
    "no such host",
    "i/o timeout",
    "403 Forbidden",
    "connection refused",
    "TLS handshake",
)
#: Its own metrics want a port that somebody may have.
_NO_METRICS = "service: {telemetry: {metrics: {level: none}}}"


def build() -> Path:
    """The program, from the cache or built (two minutes); skips with the reason where it cannot be had."""
    manifest = MANIFEST.read_bytes()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    program = caches / "retrospan-tests" / f"otelcol-{hashlib.sha256(manifest).hexdigest()[:16]}"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        pytest.skip("go is not on this machine, so no OpenTelemetry Collector can be built")
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as directory:
        done = subprocess.run(
            [go, "run", _BUILDER, "--config", str(MANIFEST)],
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
            timeout=_BUILD_SECONDS,
        )
        if done.returncode != 0 and any(word in done.stderr for word in _UNREACHABLE):
            pytest.skip(f"the OpenTelemetry Collector cannot be built here: {done.stderr[-400:]}")
        assert done.returncode == 0, done.stderr[-4000:]
        (Path(directory) / "built" / "otelcol").replace(program)
    return program


def blocks() -> list[str]:
    """The settings on the page: over gRPC, over HTTP, on one machine."""
    return [text for language, text in Page(TOP / "docs" / "collector.md").blocks if language == "yaml"]


@dataclass
class Otelcol:
    """One collector with settings from the page. `places` says what stands there for what on the page."""

    program: Path
    directory: Path
    settings: Sequence[str]
    places: Mapping[str, str]
    grpc: str = field(default_factory=free_address)
    http: str = field(default_factory=free_address)
    _process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until both its ports answer."""
        places = {"endpoint: 127.0.0.1:4317": f"endpoint: {self.grpc}"}
        places |= {"endpoint: 127.0.0.1:4318": f"endpoint: {self.http}", **self.places}
        words: list[str] = []
        for number, text in enumerate((*self.settings, _NO_METRICS)):
            for before, after in places.items():
                text = text.replace(before, after)
            file = self.directory / f"otelcol-{number}.yaml"
            file.write_text(text)
            words += ["--config", str(file)]
        with (self.directory / "otelcol.txt").open("ab") as said:
            self._process = subprocess.Popen([str(self.program), *words], stdout=said, stderr=said)
        wait_listening(self.grpc)
        wait_listening(self.http)

    def kill(self) -> None:
        """SIGKILL; harmless when it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
