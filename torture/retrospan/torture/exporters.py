"""Exporters that count: each sends numbered runs of numbered spans and records the answer about each.

A request is repeated, byte for byte, until an answer settles it: stored, or refused permanently. So at the end every
span sent is acknowledged, rejected or refused, and none is undecided. Some requests hold a span without an id, the only
kind that may be rejected; some are cut short, and must be refused as a whole.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import grpc
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

Protocol = Literal["grpc", "http"]
_METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_TIMEOUT_SECONDS = 5.0
_RETRY_SECONDS = 0.1
_UNSETTLED = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.ABORTED,
)
_SPANS_PER_REQUEST = (1, 9)
_REQUESTS_PER_RUN = (1, 4)
_BAD_SPAN_SHARE, _CUT_SHARE = 0.04, 0.02


class Addresses(NamedTuple):
    """Where the collector listens just now, as HOST:PORT."""

    grpc: str
    http: str


class Answer(NamedTuple):
    """The final answer to a request: accepted, except `rejected` spans; or refused as a whole."""

    taken: bool
    rejected: int
    words: str


@dataclass(slots=True)
class Account:
    """What one exporter sent, and the answers. Spans are keyed by (trace id, span id), in hex, with their name."""

    sent: int = 0
    acknowledged: dict[tuple[str, str], str] = field(default_factory=dict)
    rejected: int = 0
    refused: int = 0
    repeated: int = 0
    """Requests that were sent more than once."""
    seconds: list[float] = field(default_factory=list)
    """How long each request was under way until an answer settled it, with its repetitions."""
    hashes: set[str] = field(default_factory=set)
    """SHA-256 of the requests of which something was rejected, or all."""
    complaints: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Request:
    body: bytes
    keys: dict[tuple[str, str], str]
    bad: int
    cut: bool

    @property
    def spans(self) -> int:
        return len(self.keys) + self.bad


class Exporter:
    """One sender with a thread of its own. `where` is None while no collector is up."""

    def __init__(
        self, number: int, seed: int, protocol: Protocol, where: Callable[[], Addresses | None], ledger: Path
    ) -> None:
        self.account = Account()
        self._number = number
        self._protocol: Protocol = protocol
        self._chance = random.Random(f"exporter {seed} {number}")
        self._prefix = hashlib.sha256(b"%d" % seed).digest()[:8] + number.to_bytes(2, "big")
        self._where = where
        self._ledger = ledger
        self._stopping = threading.Event()
        self._abandoning = threading.Event()
        self._channel: tuple[str, grpc.Channel] | None = None
        self._thread = threading.Thread(target=self._run, name=f"torture-exporter-{number}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Ask it to end once the request in hand is settled."""
        self._stopping.set()

    def abandon(self) -> None:
        """Ask it to end at once, settled or not."""
        self._stopping.set()
        self._abandoning.set()

    def join(self, timeout: float) -> bool:
        """Wait for its end; whether it came."""
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        run = 0
        with self._ledger.open("w", encoding="utf-8") as ledger:
            while not self._stopping.is_set():
                run += 1
                for request in self._requests(run):
                    self.account.sent += request.spans
                    began = time.monotonic()
                    answer = self._settle(request.body)
                    if answer is None:
                        return
                    self.account.seconds.append(time.monotonic() - began)
                    self._note(request, answer)
                    line = {"run": run, "spans": request.spans, **answer._asdict()}
                    ledger.write(json.dumps(line) + "\n")
                    if self._stopping.wait(self._chance.uniform(0.01, 0.15)):
                        return

    def _requests(self, run: int) -> list[_Request]:
        """Return a run: an agent's call with model and tool calls under it, its root in the last request."""
        trace = self._prefix + run.to_bytes(6, "big")
        counts = [
            self._chance.randint(*_SPANS_PER_REQUEST) for _ in range(self._chance.randint(*_REQUESTS_PER_RUN))
        ]
        numbers = iter(range(sum(counts), 0, -1))
        return [self._request(trace, run, [next(numbers) for _ in range(count)]) for count in counts]

    def _request(self, trace: bytes, run: int, numbers: list[int]) -> _Request:
        request = ExportTraceServiceRequest()
        group = request.resource_spans.add()
        group.resource.attributes.add(key="service.name").value.string_value = "retrospan-torture"
        spans = group.scope_spans.add().spans
        keys: dict[tuple[str, str], str] = {}
        for number in numbers:
            span = self._span(trace, run, number)
            spans.append(span)
            keys[trace.hex(), span.span_id.hex()] = span.name
        bad = int(self._chance.random() < _BAD_SPAN_SHARE)
        if bad:
            spans.add(trace_id=trace, name="a span without an id")
        body = request.SerializeToString()
        cut = not bad and self._chance.random() < _CUT_SHARE
        return _Request(body[:-1] if cut else body, keys, bad, cut)

    def _span(self, trace: bytes, run: int, number: int) -> Span:
        start = time.time_ns()
        operation = "invoke_agent" if number == 1 else ("chat", "execute_tool")[number % 2]
        span = Span(
            trace_id=trace,
            span_id=number.to_bytes(8, "big"),
            parent_span_id=b"" if number == 1 else (1).to_bytes(8, "big"),
            name=f"{operation} {self._number}/{run}/{number}",
            start_time_unix_nano=start,
            end_time_unix_nano=start + self._chance.randrange(1, 10**9),
        )
        span.attributes.add(key="gen_ai.operation.name").value.string_value = operation
        span.attributes.add(key="torture.text").value.string_value = "text " * self._chance.randrange(40)
        return span

    def _settle(self, body: bytes) -> Answer | None:
        """Send until an answer settles the request; None when told to abandon it."""
        tries = 0
        while not self._abandoning.is_set():
            addresses = self._where()
            if addresses is not None:
                tries += 1
                answer = (
                    self._send_grpc(addresses, body) if self._protocol == "grpc" else _post(addresses, body)
                )
                if answer is not None:
                    self.account.repeated += tries > 1
                    return answer
            self._abandoning.wait(_RETRY_SECONDS)
        return None

    def _send_grpc(self, addresses: Addresses, body: bytes) -> Answer | None:
        if self._channel is not None and self._channel[0] != addresses.grpc:
            self._channel[1].close()
            self._channel = None
        if self._channel is None:
            self._channel = (addresses.grpc, grpc.insecure_channel(addresses.grpc))
        try:
            return _taken(self._channel[1].unary_unary(_METHOD)(body, timeout=_TIMEOUT_SECONDS))
        except grpc.RpcError as error:
            if error.code() in _UNSETTLED:
                return None
            return Answer(False, 0, f"{error.code().name}: {error.details()}")

    def _note(self, request: _Request, answer: Answer) -> None:
        account = self.account
        if request.cut == answer.taken:
            account.complaints.append(
                f"a request {'cut short' if request.cut else 'in order'} was {'taken' if answer.taken else 'refused'}: "
                f"{answer.words}"
            )
        if answer.taken and answer.rejected != request.bad:
            account.complaints.append(
                f"{answer.rejected} spans were rejected, not {request.bad}: {answer.words}"
            )
        if answer.taken:
            account.acknowledged |= request.keys
            account.rejected += answer.rejected
        else:
            account.refused += request.spans
        if answer.rejected or not answer.taken:
            account.hashes.add(hashlib.sha256(request.body).hexdigest())


def _post(addresses: Addresses, body: bytes) -> Answer | None:
    connection = http.client.HTTPConnection(addresses.http, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
        reply = connection.getresponse()
        content = reply.read()
        if reply.status == 200:
            return _taken(content)
        if reply.status in (429, 502, 503, 504):
            return None
        return Answer(False, 0, f"{reply.status}: {content[:200]!r}")
    except (OSError, http.client.HTTPException, DecodeError):
        return None
    finally:
        connection.close()


def _taken(content: bytes) -> Answer:
    partial = ExportTraceServiceResponse.FromString(content).partial_success
    return Answer(True, partial.rejected_spans, partial.error_message)
