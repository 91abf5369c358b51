"""A receiver on free ports over a log on disk."""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pytest

from retrospan.ingest.http.site import Site
from retrospan.ingest.log.record import Record, decode
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.machine.durable_files import Files
from retrospan.ingest.receive.grpc import GrpcReceiver
from retrospan.ingest.receive.http import HttpReceiver
from retrospan.ingest.receive.intake import Intake
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.settings.setting_values import Address

REQUEST_BYTES = 500_000
BUDGET_BYTES = 32 << 20


class Disk(Files):
    """The real disk; `free` pretends there is that much room."""

    free: int | None = None

    def free_bytes(self, directory: Path) -> int:
        return super().free_bytes(directory) if self.free is None else self.free


@dataclass
class Answer:
    """An HTTP answer, read whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Station:
    """Both receivers, started when their port is asked for, what they said, and what they made durable."""

    log: WriteAheadLog
    disk: Disk
    intake: Intake
    body_seconds: float = 30.0
    said: list[str] = field(default_factory=list)
    stopping: ExitStack = field(default_factory=ExitStack)

    @cached_property
    def grpc_port(self) -> int:
        """Starts the gRPC receiver."""
        receiver = GrpcReceiver(self.intake, Address("127.0.0.1", 0))
        self.stopping.callback(receiver.stop, 5)
        return receiver.start()

    @cached_property
    def http_port(self) -> int:
        """Starts the HTTP receiver."""
        receiver = HttpReceiver(
            self.intake,
            Site(Address("127.0.0.1", 0), body_seconds=self.body_seconds),
            log_event=self.said.append,
        )
        self.stopping.callback(receiver.stop, 5)
        return receiver.start()

    def records(self) -> list[Record]:
        """Every record of the log."""
        found: list[Record] = []
        while chunk := self.log.read(found[-1].sequence if found else 0, max_bytes=1 << 24):
            found += [decode(chunk.data[frame.body : frame.end]) for frame in chunk.frames()]
        return found

    def full(self) -> None:
        """Let the disk be full from now on."""
        self.disk.free = 0
        self.log.append(tenant="default", traces=b"")  # the log looks at the disk with every commit

    def post(
        self,
        path: str,
        body: bytes,
        *,
        content_type: str = "application/x-protobuf",
        encoding: str = "",
        method: str = "POST",
    ) -> Answer:
        """One HTTP request."""
        headers = {"Content-Type": content_type} if content_type else {}
        if encoding:
            headers["Content-Encoding"] = encoding
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=30)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()


@pytest.fixture
def station(tmp_path: Path) -> Iterator[Station]:
    disk = Disk()
    log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=1000, files=disk)
    made = Station(log, disk, Intake(log, Limits(request_bytes=REQUEST_BYTES, requests_bytes=BUDGET_BYTES)))
    with made.stopping:
        yield made
    log.close()
