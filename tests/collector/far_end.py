"""Retrospan as the far end of another agent: on ports that stay the same when it comes back, and able to refuse."""

from __future__ import annotations

import hashlib
import json
import ssl
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from certificates import Certificates
from fix_collector import Served
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from ports import unused_port

from retrospan.ingest.log.record import decode
from retrospan.ingest.log.write_ahead_log import WriteAheadLog

TOKEN = "a-token-that-is-long-enough"
_TOKENS = """
[[token]]
name = "test"
sha256 = "{hash}"
rights = ["read", "write"]
"""
_TLS = """
[tls]
certificate = "{certificate}"
key = "{key}"
"""
_NO_ROOM = """
[limits]
low_water_bytes = 9000000000000000000
"""


def free_address() -> str:
    """A port that nobody listens at just now."""
    return f"127.0.0.1:{unused_port()}"


@dataclass
class FarEnd:
    """A collector of ours; not started yet. With certificates it speaks TLS and wants TOKEN."""

    directory: Path
    certificates: Certificates | None = None
    settings: str = ""
    """Further ones, in TOML."""

    def __post_init__(self) -> None:
        self.grpc, self.http = free_address(), free_address()
        self._served: Served | None = None

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def start(self, *, refusing: bool = False) -> None:
        """Start it. `refusing`: its disk counts as full, so that it answers UNAVAILABLE and 503."""
        settings, flags = self.directory / "settings.toml", ["--grpc", self.grpc, "--http", self.http]
        text = self.settings + (_NO_ROOM if refusing else "")
        if self.certificates is not None:
            pair = self.certificates.server
            text += _TLS.format(certificate=pair.certificate, key=pair.key)
            tokens = self.directory / "tokens.toml"
            tokens.write_text(_TOKENS.format(hash=hashlib.sha256(TOKEN.encode()).hexdigest()))
            tokens.chmod(0o600)
            flags += ["--tokens", str(tokens)]
        settings.write_text(text)
        self._served = Served(self.data, self.directory / "stderr.txt", *flags, "--config", str(settings))

    def kill(self) -> None:
        """SIGKILL; harmless when it does not run."""
        if self._served is not None:
            self._served.kill()
            self._served = None

    def stop(self) -> None:
        """SIGTERM, and everything is loaded."""
        assert self._served is not None
        assert self._served.stop() == 0
        self._served = None

    def wait_refused(self) -> None:
        """Until it has refused a request since its start."""
        assert self._served is not None
        self._served.until(lambda: self._metric("retrospan_intake_requests_refused_total") > 0)

    def wait_spans(self, count: int) -> None:
        """Until the view `spans` has so many rows; more are a failure."""
        assert self._served is not None
        self._served.until(lambda: self._spans() >= count)
        assert self._spans() == count

    def kept(self) -> list[ExportTraceServiceRequest]:
        """Every trace request in its log, which nobody may have open."""
        assert self._served is None
        log = WriteAheadLog.open(self.data / "log", low_water_bytes=0)
        found: list[ExportTraceServiceRequest] = []
        after = 0
        while chunk := log.read(after, max_bytes=1 << 26):
            for frame in chunk.frames():
                record = decode(chunk.data[frame.body : frame.end])
                after = record.sequence
                if record.traces is not None:
                    found.append(ExportTraceServiceRequest.FromString(record.traces))
        log.close()
        return found

    def _spans(self) -> int:
        return int(self._ask("/?default_format=JSON&query=SELECT+count()+AS+n+FROM+spans")["data"][0]["n"])

    def _metric(self, name: str) -> float:
        lines = self._get("/metrics").decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))

    def _ask(self, path: str) -> dict[str, Any]:
        return cast("dict[str, Any]", json.loads(self._get(path)))

    def _get(self, path: str) -> bytes:
        assert self._served is not None
        request = urllib.request.Request(f"http://{self._served.sql}{path}")
        context = None
        if self.certificates is not None:
            request = urllib.request.Request(f"https://{self._served.sql}{path}")
            request.add_header("Authorization", f"Bearer {TOKEN}")
            context = ssl.create_default_context(cafile=str(self.certificates.authority))
        with urllib.request.urlopen(request, timeout=60, context=context) as reply:
            return cast(bytes, reply.read())
