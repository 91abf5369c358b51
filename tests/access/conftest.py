"""Both receivers behind one gate, over a log on disk, with a file of tokens that a test may rewrite."""

from __future__ import annotations

import hashlib
import http.client
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import grpc
import pytest
from certificates import Certificates, make_certificates

from retrospan.ingest.access.gate import Gate
from retrospan.ingest.access.quotas import Meter
from retrospan.ingest.access.tenancy import Tenancy
from retrospan.ingest.access.tokens import TokenFile
from retrospan.ingest.http.site import Site
from retrospan.ingest.log.record import Record, decode
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.receive.grpc import GrpcReceiver
from retrospan.ingest.receive.http import HttpReceiver
from retrospan.ingest.receive.intake import Intake
from retrospan.ingest.settings.config import Limits, TlsSettings
from retrospan.ingest.settings.setting_values import Address

TRACES, LOGS, METRICS = (
    f"/opentelemetry.proto.collector.{signal}.v1.{service}/Export"
    for signal, service in (("trace", "TraceService"), ("logs", "LogsService"), ("metrics", "MetricsService"))
)
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def entry(
    token: str, *, name: str, rights: str = '"write"', tenant: str = "default", expires: str = ""
) -> str:
    """One [[token]] of the file."""
    digest = hashlib.sha256(token.encode()).hexdigest()
    until = f"expires = {expires}\n" if expires else ""
    return (
        f'[[token]]\nname = "{name}"\nsha256 = "{digest}"\nrights = [{rights}]\ntenant = "{tenant}"\n{until}'
    )


STANDARD = (
    entry("Writer-1", name="writer")
    + entry("Reader-1", name="reader", rights='"read"')
    + entry("Admin-1", name="admin", rights='"admin"')
    + entry("Old-1", name="old", expires="2026-11-21T11:59:59Z")
    + entry("Young-1", name="young", expires="2026-11-21T12:00:01Z")
    + entry("Other-1", name="other", rights='"write", "read"', tenant="other")
)


@dataclass
class Door:
    """What stands behind a gate; receivers start when their port is asked for."""

    file: Path
    log: WriteAheadLog
    tls: TlsSettings = field(default_factory=TlsSettings)
    threads: int = 4
    seconds: float = 0.0
    """The time of the quotas; it moves only when a test moves it."""
    said: list[str] = field(default_factory=list)
    stopping: ExitStack = field(default_factory=ExitStack)

    def write(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8")

    @cached_property
    def intake(self) -> Intake:
        return Intake(self.log, Limits(request_bytes=200_000))

    @cached_property
    def gate(self) -> Gate:
        tenancy = Tenancy(self.file.parent)
        tokens = TokenFile(self.file, self.said.append)
        return Gate(tokens, tenancy, meter=Meter(lambda: self.seconds), now=lambda: NOW)

    @cached_property
    def grpc(self) -> GrpcReceiver:
        return GrpcReceiver(
            self.intake, Address("127.0.0.1", 0), gate=self.gate, tls=self.tls, threads=self.threads
        )

    @cached_property
    def grpc_port(self) -> int:
        self.stopping.callback(self.grpc.stop, 5)
        return self.grpc.start()

    @cached_property
    def http_port(self) -> int:
        receiver = HttpReceiver(
            self.intake, Site(Address("127.0.0.1", 0), self.tls), gate=self.gate, threads=self.threads
        )
        self.stopping.callback(receiver.stop, 5)
        return receiver.start()

    def records(self) -> list[Record]:
        """Every record of the log."""
        found: list[Record] = []
        while chunk := self.log.read(found[-1].sequence if found else 0, max_bytes=1 << 24):
            found += [decode(chunk.data[frame.body : frame.end]) for frame in chunk.frames()]
        return found

    def call(self, body: bytes, *metadata: tuple[str, str]) -> tuple[str, str, Mapping[str, bytes]]:
        """One export over gRPC: the code's name, the message, the trailers."""
        with grpc.insecure_channel(f"127.0.0.1:{self.grpc_port}") as channel:
            try:
                channel.unary_unary(TRACES)(body, timeout=30, metadata=metadata)
            except grpc.RpcError as error:
                trailers = {item.key: item.value for item in error.trailing_metadata()}
                return str(error.code().name), str(error.details()), trailers
        return "OK", "", {}

    def post(
        self, body: bytes, path: str = "/v1/traces", **headers: str
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """One export over HTTP: status, body, headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=30)
        try:
            named = {"Content-Type": "application/x-protobuf"}
            named |= {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request("POST", path, body, named)
            answer = connection.getresponse()
            return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
        finally:
            connection.close()


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    (tmp_path / "data").mkdir()
    log = WriteAheadLog.open(tmp_path / "data" / "log", low_water_bytes=1000)
    made = Door(tmp_path / "data" / "tokens.toml", log)
    made.write(STANDARD)
    with made.stopping:
        yield made
    log.close()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))
