"""OTLP as it is answered here: one row per rule, sent over every way that it concerns. The page holds the same table."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass

import otlp_requests as make
from conformance.senders import WAYS, Answer, Request, Signal, Way, encoded, send
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from receive.conftest import REQUEST_BYTES, Station

from retrospan.ingest.otlp.pieces import MOST_GROUPS, MOST_IN_MEMBER
from retrospan.schemas.wire import delimited

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


@dataclass(frozen=True)
class Rule:
    """What is sent and what comes back. `grpc` and `http` are the codes; '' where the rule does not concern that way."""

    sent: str
    grpc: str
    http: str
    body: str
    run: Callable[[Station, Way, Signal], Answer]
    retry: bool = False
    ways: tuple[Way, ...] = WAYS

    @property
    def row(self) -> list[str]:
        """As on the page."""
        return [self.sent, self.grpc or "-", self.http or "-", self.body, "yes" if self.retry else "no"]


EMPTY, PARTIAL, STATUS, BAD, RETRY = (
    "empty",
    "`partial_success`",
    "`Status`",
    "`Status` with `BadRequest`",
    "`Status` with `RetryInfo`",
)
_HTTP: tuple[Way, ...] = ("HTTP protobuf", "HTTP JSON")


def request(signal: Signal, *, good: int = 1, bad: int = 0) -> Request:
    """A request with so many members that can and cannot be stored."""
    if signal == "traces":
        return make.traces(
            *(make.span() for _ in range(good)), *(make.span(trace_id=b"odd") for _ in range(bad))
        )
    return make.logs(
        *(LogRecord(severity_text="INFO") for _ in range(good)),
        *(LogRecord(span_id=b"odd") for _ in range(bad)),
    )


def _plain(
    good: int = 1, bad: int = 0, *, compressed: bool = False
) -> Callable[[Station, Way, Signal], Answer]:
    return lambda station, way, signal: send(
        station, way, signal, encoded(request(signal, good=good, bad=bad), way), compressed=compressed
    )


def _envelope(station: Station, way: Way, signal: Signal) -> Answer:
    empty = make.traces() if signal == "traces" else make.logs()
    return send(station, way, signal, encoded(empty, way))


def _empty(station: Station, way: Way, signal: Signal) -> Answer:
    return send(station, way, signal, b"{}" if way == "HTTP JSON" else b"")


def _unreadable(station: Station, way: Way, signal: Signal) -> Answer:
    return send(station, way, signal, b'{"resource' if way == "HTTP JSON" else b"\xff\xff\xff")


def _large(*, compressed: bool) -> Callable[[Station, Way, Signal], Answer]:
    return lambda station, way, signal: send(
        station, way, signal, bytes(REQUEST_BYTES + 1), compressed=compressed
    )


def _full(station: Station, way: Way, signal: Signal) -> Answer:
    station.full()
    return _plain()(station, way, signal)


def _groups(station: Station, way: Way, signal: Signal) -> Answer:
    return send(station, way, signal, encoded(request(signal), way) + b"\x0b\x0c")


def _crowded(station: Station, way: Way, signal: Signal) -> Answer:
    """More resources than a request may have, each of two bytes."""
    if way != "HTTP JSON":
        return send(station, way, signal, b"\x0a\x00" * (MOST_GROUPS + 1))
    name = "resourceSpans" if signal == "traces" else "resourceLogs"
    return send(station, way, signal, b'{"%s":[%s{}]}' % (name.encode(), b"{}," * MOST_GROUPS))


def _crowded_member(station: Station, way: Way, signal: Signal) -> Answer:
    """Beside a good member, one with more attributes than it may have, each of two bytes."""
    if way != "HTTP JSON":
        number = 9 if signal == "traces" else 6
        member = delimited(2, delimited(number, b"") * (MOST_IN_MEMBER + 1))
        body = encoded(request(signal), way) + delimited(1, delimited(2, member))
        return send(station, way, signal, body)
    document = json.loads(encoded(request(signal), way))
    names = ("resourceSpans", "scopeSpans", "spans")
    if signal == "logs":
        names = ("resourceLogs", "scopeLogs", "logRecords")
    members = document[names[0]][0][names[1]][0][names[2]]
    members.append({"attributes": [{}] * (MOST_IN_MEMBER + 1)})
    return send(station, way, signal, json.dumps(document, separators=(",", ":")).encode())


def _over_budget(station: Station, way: Way, signal: Signal) -> Answer:
    with station.intake.budget.hold() as others:
        others.arrive(station.intake.limits.requests_bytes)
        return _plain()(station, way, signal)


def _with_large_window(body: bytes) -> bytes:
    """One frame in zstd, written by somebody who did not know how much would come."""
    writing = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 26})
    return (
        writing.compress(body[:9], zstd.ZstdCompressor.FLUSH_BLOCK)
        + writing.compress(body[9:])
        + writing.flush()
    )


def _encoded(encode: Callable[[bytes], bytes], name: str) -> Callable[[Station, Way, Signal], Answer]:
    return lambda station, way, signal: send(
        station, way, signal, encode(encoded(request(signal), way)), headers={"Content-Encoding": name}
    )


def _typed(content_type: str) -> Callable[[Station, Way, Signal], Answer]:
    return lambda station, way, signal: send(
        station, way, signal, encoded(request(signal), way), headers={"Content-Type": content_type}
    )


def _elsewhere(path: str) -> Callable[[Station, Way, Signal], Answer]:
    def run(station: Station, way: Way, signal: Signal) -> Answer:
        return send(station, way, signal, encoded(request(signal), way), path=path)

    return run


def _metrics(station: Station, way: Way, signal: Signal) -> Answer:
    return send(station, way, "metrics", b"")


def _profiles(station: Station, way: Way, signal: Signal) -> Answer:
    service = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
    return send(station, way, signal, b"", path=service if way == "gRPC" else "/v1development/profiles")


def _with_method(method: str) -> Callable[[Station, Way, Signal], Answer]:
    return lambda station, way, signal: send(station, way, signal, b"", method=method)


def _slow(station: Station, way: Way, signal: Signal) -> Answer:
    station.body_seconds = 0.2
    headers = {"Content-Length": "1000"}
    return send(station, way, signal, b"{", headers=headers)


def _as_json(change: Callable[[dict[str, object]], None]) -> Callable[[Station, Way, Signal], Answer]:
    """A JSON request with its one member changed."""

    def run(station: Station, way: Way, signal: Signal) -> Answer:
        document = json.loads(encoded(request(signal), way))
        names = (
            ("resourceSpans", "scopeSpans", "spans")
            if signal == "traces"
            else ("resourceLogs", "scopeLogs", "logRecords")
        )
        member = document[names[0]][0][names[1]][0][names[2]][0]
        change(member)
        answer = send(station, way, signal, json.dumps(document).encode())
        kept = station.records()[-1]
        assert kept.traces or kept.logs
        return answer

    return run


def _numbers(member: dict[str, object]) -> None:
    member["timeUnixNano"] = member["startTimeUnixNano"] = 1_790_000_000_000_000_000
    member["endTimeUnixNano"] = "1790000000000000001"
    member["kind"] = 3


def _upper(member: dict[str, object]) -> None:
    member["traceId"], member["spanId"] = "5B8EFFF798038103D269B633813FC60C", "EEE19B7EC3C1B174"


def _unknown(member: dict[str, object]) -> None:
    member["laterField"] = {"a": [1]}
    # Names in snake_case are unknown names.
    member["trace_id"] = 5


RULES: tuple[Rule, ...] = (
    Rule("a request", "OK", "200", EMPTY, _plain()),
    Rule("a request in gzip", "OK", "200", EMPTY, _plain(compressed=True)),
    Rule("a request in several gzip members", "", "200", EMPTY, _encoded(lambda body: gzip.compress(body[:9]) + gzip.compress(body[9:]), "gzip"), ways=_HTTP),
    Rule("an empty request", "OK", "200", EMPTY, _empty),
    Rule("a resource and a scope without spans or log records", "OK", "200", EMPTY, _envelope),
    Rule("JSON with 64-bit numbers as text or number, enums as numbers", "", "200", EMPTY, _as_json(_numbers), ways=("HTTP JSON",)),
    Rule("JSON with ids in upper-case hex", "", "200", EMPTY, _as_json(_upper), ways=("HTTP JSON",)),
    Rule("JSON with unknown names, `snake_case` among them", "", "200", EMPTY, _as_json(_unknown), ways=("HTTP JSON",)),
    Rule("some spans with ids that cannot be", "OK", "200", PARTIAL, _plain(2, 1)),
    Rule("only spans with ids that cannot be", "OK", "200", PARTIAL, _plain(0, 3)),
    Rule("what is not OTLP", "INVALID_ARGUMENT", "400", BAD, _unreadable),
    Rule("a request in several zstd frames", "", "200", EMPTY, _encoded(lambda body: zstd.compress(body[:9]) + zstd.compress(body[9:]), "zstd"), ways=_HTTP),
    Rule("a gzip stream that breaks off", "", "400", BAD, _encoded(lambda body: gzip.compress(body)[:-9], "gzip"), ways=_HTTP),
    Rule("a zstd stream that breaks off", "", "400", BAD, _encoded(lambda body: zstd.compress(body)[:-3], "zstd"), ways=_HTTP),
    Rule("a zstd stream with a window of more than 32 MiB", "", "400", BAD, _encoded(_with_large_window, "zstd"), ways=_HTTP),
    Rule("plain bytes announced as gzip", "", "400", BAD, _encoded(lambda body: body, "gzip"), ways=_HTTP),
    Rule("gzip within gzip", "", "400", BAD, _encoded(lambda body: gzip.compress(gzip.compress(body)), "gzip"), ways=_HTTP),
    Rule("a group of the wire format in the envelope", "INVALID_ARGUMENT", "400", BAD, _groups, ways=("gRPC", "HTTP protobuf")),
    Rule("a request with too many elements", "INVALID_ARGUMENT", "400", BAD, _crowded),
    Rule("a span with too many elements", "OK", "200", PARTIAL, _crowded_member),
    Rule("a request over the limit", "RESOURCE_EXHAUSTED", "413", STATUS, _large(compressed=False)),
    Rule("a request over the limit once decompressed", "RESOURCE_EXHAUSTED", "413", STATUS, _large(compressed=True)),
    Rule("gzip members that are over the limit together", "", "413", STATUS, _encoded(lambda body: gzip.compress(bytes(REQUEST_BYTES // 2)) * 3, "gzip"), ways=_HTTP),
    Rule("another content encoding (`br`, `snappy`)", "", "415", BAD, _encoded(lambda body: body, "br"), ways=_HTTP),
    Rule("another content type", "", "415", BAD, _typed("text/plain"), ways=_HTTP),
    Rule("no content type", "", "415", BAD, _typed(""), ways=_HTTP),
    Rule("metrics", "UNIMPLEMENTED", "404", STATUS, _metrics),
    Rule("profiles", "UNIMPLEMENTED", "404", STATUS, _profiles),
    Rule("another path", "", "404", STATUS, _elsewhere("/v2/traces"), ways=_HTTP),
    Rule("`GET`", "", "405", STATUS, _with_method("GET"), ways=_HTTP),
    Rule("`PUT`", "", "405", STATUS, _with_method("PUT"), ways=_HTTP),
    Rule("a body that does not arrive in time", "", "408", RETRY, _slow, True, _HTTP),
    Rule("more than there is memory set aside for", "UNAVAILABLE", "503", RETRY, _over_budget, True),
    Rule("anything while the log or the disk is full", "UNAVAILABLE", "503", RETRY, _full, True),
)  # fmt: skip
# Answered in JSON, whatever was meant.
UNTYPED = {"another content type", "no content type"}
# On gRPC these are the answers of its library, without details.
BY_LIBRARY = {"a request over the limit", "profiles"}
