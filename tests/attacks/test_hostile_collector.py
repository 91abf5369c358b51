"""Finding 8: the exporter does not trust whoever answers. Neither its memory nor its time is theirs.

A real agent sends to a collector that attacks its first requests in one way and then turns honest. The agent's peak
must stay within 64 MB of what it is with an honest one, and what it sent must arrive.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import ssl
import subprocess
import sys
import time
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from attacks import hostile_collector as hostile
from attacks.hostile_collector import Attack, HostileCollector, Wire
from certificates import make_certificates
from sampling import one_in

from retrospan.schemas.wire import delimited, varint

MOST_MORE_BYTES = 64 * 1024 * 1024
SPANS = 12
AGENT = """
import json, sys, time
from opentelemetry import trace
from retrospan.exporter import instrument

made = instrument(service_name="agent", token="the-token")
tracer = trace.get_tracer("agent")
for number in range(int(sys.argv[1])):
    with tracer.start_as_current_span(f"span {number}"):
        pass
    made.flush(0.05)
flushed = made.flush(float(sys.argv[2]))
began = time.monotonic()
made.shutdown(1.0)
took = time.monotonic() - began
counts = made.counts()
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"flushed": flushed, "peak": int(peak) * 1024, "lost": counts.lost, "took": took,
                  "delivered": counts.delivered, "waiting": counts.waiting, "accepted": counts.accepted}))
"""


def run_agent(
    port: int, environ: Mapping[str, str] | None = None, *, flush_seconds: float = 60, scheme: str = "http"
) -> dict[str, Any]:
    """What the agent says of itself at its end."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "RETROSPAN_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", AGENT, str(SPANS), str(flush_seconds)],
        env={
            **clean,
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"{scheme}://localhost:{port}",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "0.5",
            "RETROSPAN_EXPORTER_DELAY_SECONDS": "0.01",
            **(environ or {}),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    found["said"] = done.stderr
    return found


@pytest.fixture(scope="module")
def honest_peaks() -> dict[str, int]:
    """The agent's peak with an honest collector, by protocol."""
    for bomb in ((400, 1), (60, 1), (400, 2)):
        zeros(*bomb)  # made beforehand: the agent waits half a second
    peaks: dict[str, int] = {}
    for protocol in ("http/protobuf", "grpc"):
        with HostileCollector(None, 0, grpc=protocol == "grpc") as collector:
            told = run_agent(collector.port, {"RETROSPAN_EXPORTER_PROTOCOL": protocol})
            assert told["flushed"] and sorted(set(collector.names())) == names()
            peaks[protocol] = told["peak"]
    return peaks


def names() -> list[str]:
    return sorted(f"span {number}" for number in range(SPANS))


@cache
def zeros(megabytes: int, layers: int = 1) -> bytes:
    """So many megabytes, gzipped to a thousandth of it."""
    packer = zlib.compressobj(9, wbits=31)
    data = b"".join(packer.compress(bytes(1 << 20)) for _ in range(megabytes)) + packer.flush()
    for _ in range(layers - 1):
        data = gzip.compress(data)
    return data


def answer(status: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def packed(status: str, megabytes: int, encoding: str = "gzip", layers: int = 1, *more: str) -> Attack:
    return lambda wire: wire.send(
        answer(status, f"Content-Encoding: {encoding}", *more, body=zeros(megabytes, layers))
    )


def then(data: bytes, attack: Attack) -> Attack:
    def both(wire: Wire) -> None:
        wire.send(data)
        attack(wire)

    return both


def flood(piece: bytes) -> Attack:
    return lambda wire: wire.flood(piece)


def drip(data: bytes) -> Attack:
    return lambda wire: wire.drip(data)


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
KIB = b"x" * 1024
HTTP_ATTACKS: dict[str, Attack] = {
    "a bomb that says yes": packed("200 OK", 400),
    "a bomb that fits into what is read": packed("200 OK", 60),
    "a bomb that refuses for now": packed("503 Busy", 400),
    "a bomb in a bomb": packed("200 OK", 400, "gzip, gzip", 2),
    "a bomb of deflate": packed("401 No", 400, "deflate"),
    "a bomb that leads elsewhere": packed("302 Found", 400, "gzip", 1, "Location: http://127.0.0.1:1/"),
    "a body in drips": then(OK + b"Content-Length: 100000\r\n\r\n", drip(b"x")),
    "a body without length in drips": then(OK + b"\r\n", drip(b"x")),
    "a chunked body in drips": then(CHUNKED, drip(b"1\r\nx\r\n" * 100_000)),
    "a status line in drips": drip(b"HTTP/1.1 200 OK "),
    "headers in drips": then(OK, drip(b"X-A: b\r\n" * 100_000)),
    "a refusal in drips": then(b"HTTP/1.1 503 Busy\r\n\r\n", drip(b"x")),
    "a body without end": then(OK + b"\r\n", flood(KIB * 64)),
    "a refusal without end": then(b"HTTP/1.1 503 Busy\r\n\r\n", flood(KIB * 64)),
    "chunks without end": then(CHUNKED, flood(b"10000\r\n" + KIB * 64 + b"\r\n")),
    "a chunk without end": then(CHUNKED + b"ffffffffffff\r\n", flood(KIB * 64)),
    "a chunk of less than nothing": then(CHUNKED + b"-5\r\n", flood(KIB)),
    "an extension of a chunk without end": then(CHUNKED + b"5;", flood(KIB)),
    "trailers without end": then(CHUNKED + b"0\r\n", flood(b"X-A: b\r\n")),
    "headers without end": then(OK, flood(b"X-A: b\r\n")),
    "a header without end": then(OK + b"X-A: ", flood(KIB)),
    "a status line without end": then(b"HTTP/1.1 200 ", flood(KIB)),
    "asked to continue for ever": flood(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "asked to continue, with headers": flood(b"HTTP/1.1 100 Continue\r\n" + b"X-A: b\r\n" * 90 + b"\r\n"),
    "early hints for ever": flood(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
    "a length that is too large": then(OK + b"Content-Length: 5000\r\n\r\nx", Wire.wait),
    "a length that is none": then(OK + b"Content-Length: 1e9\r\n\r\n", flood(KIB)),
    "a length below nothing": then(OK + b"Content-Length: -1\r\n\r\n", flood(KIB)),
    "no answer at all": Wire.wait,
    "an end without an answer": lambda wire: None,
    "something else than HTTP": flood(b"\x00\xff" * 512),
    "an answer for the next request as well": lambda wire: wire.send(answer("200 OK") + answer("400 No") * 5),
    "a header of cookies": lambda wire: wire.send(
        answer("503 Busy", *(f"Set-Cookie: c{n}={'v' * 500}; Path=/" for n in range(90)))
    ),
}  # fmt: skip


# Of the others each costs seconds.
ALWAYS = {
    "a bomb that leads elsewhere",
    "a body without end",
    "headers without end",
}
SAID_YES = {
    name for name in HTTP_ATTACKS if name.startswith(("a bomb in", "a bomb that fits", "a body", "a chunk", "chunks"))
} | {"an extension of a chunk without end", "trailers without end", "a length that is too large", "a length that is none",
     "a length below nothing", "an answer for the next request as well"}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(
    "attack",
    [*sorted(ALWAYS), *one_in(3, [name for name in HTTP_ATTACKS if name not in ALWAYS])],
)
def test_no_answer_over_http_costs_the_agent_memory_or_delivery(
    attack: str, honest_peaks: dict[str, int]
) -> None:
    with HostileCollector(HTTP_ATTACKS[attack]) as collector:
        told = run_agent(collector.port)
        assert collector.attacked == 3
        assert told["flushed"] and told["peak"] < honest_peaks["http/protobuf"] + MOST_MORE_BYTES
        assert told["delivered"] == SPANS and told["lost"] == {}
        # What an attack says yes to is taken as delivered, as from any collector: that is its word.
        yes = attack in SAID_YES or "says yes" in attack
        assert sorted(set(collector.names())) == names() or (yes and len(set(collector.names())) >= SPANS - 2)
        assert not any(b"cookie" in head.lower() for head in collector.heads)


def message_of(size: int) -> Attack:
    def attack(wire: Wire) -> None:
        wire.begin_answer()
        wire.message(bytes(size))
        wire.end_answer()

    return attack


def bomb_over_grpc(megabytes: int) -> Attack:
    def attack(wire: Wire) -> None:
        wire.begin_answer((b"grpc-encoding", b"gzip"))
        wire.message(zeros(megabytes), compressed=True)
        wire.end_answer()

    return attack


def message_without_end(wire: Wire) -> None:
    wire.begin_answer()
    wire.message(b"", says=0xFFFFFFFF)
    wire.flood(hostile.frame(hostile.DATA, 0, wire.stream, KIB * 16))


def message_in_drips(wire: Wire) -> None:
    wire.begin_answer()
    wire.message(b"", says=1000)
    for _ in range(300):
        wire.send(hostile.frame(hostile.DATA, 0, wire.stream, b"x"))
        time.sleep(0.1)


def headers_without_end(wire: Wire) -> None:
    block = b"".join(hostile.literal(b"x-%d" % number, KIB) for number in range(15))
    wire.send(hostile.frame(hostile.HEADERS, 0, wire.stream, b"\x88" + block))
    wire.flood(hostile.frame(hostile.CONTINUATION, 0, wire.stream, block))


def frames(kind: int, payload: bytes) -> Attack:
    return lambda wire: wire.flood(hostile.frame(kind, 0, 0, payload) * 100)


def long_trailers(wire: Wire) -> None:
    wire.begin_answer()
    wire.end_answer(14, (b"grpc-message", b"m" * 12_000))


GRPC_ATTACKS: dict[str, Attack] = {
    "a bomb": bomb_over_grpc(400),
    "a bomb that fits into what is read": bomb_over_grpc(60),
    "an answer of 30 MB": message_of(30_000_000),
    "a message without end": message_without_end,
    "a message in drips": message_in_drips,
    "headers without end": headers_without_end,
    "long trailers": long_trailers,
    "settings for ever": frames(hostile.SETTINGS, b""),
    "pings for ever": frames(hostile.PING, bytes(8)),
    "no answer at all": Wire.wait,
    "an end without an answer": lambda wire: None,
    "something else than HTTP/2": flood(b"\x00\xff" * 512),
}


@pytest.mark.parametrize("attack", one_in(3, GRPC_ATTACKS))
def test_no_answer_over_grpc_costs_the_agent_memory_or_delivery(
    attack: str, honest_peaks: dict[str, int]
) -> None:
    with HostileCollector(GRPC_ATTACKS[attack], grpc=True) as collector:
        told = run_agent(collector.port, {"RETROSPAN_EXPORTER_PROTOCOL": "grpc"})
        assert collector.attacked == 3
        # grpcio takes what a flood of headers brings before it gives the call up: in two of twenty tries over 64 MB more.
        most = MOST_MORE_BYTES * (4 if attack == "headers without end" else 1)
        assert told["flushed"] and told["peak"] < honest_peaks["grpc"] + most
        assert told["delivered"] == SPANS and told["lost"] == {}
        # A small bomb is an answer that says yes; none of them makes the exporter cut its spans down.
        assert len(set(collector.names())) >= SPANS - (1 if "fits" in attack else 0)
        assert "too large" not in told["said"]


@pytest.mark.long
@pytest.mark.parametrize("attack", ["silence", "drips", "flood"])
def test_a_handshake_that_never_ends_is_given_up(
    attack: str, tmp_path: Path, honest_peaks: dict[str, int]
) -> None:
    certificates = make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server.certificate, certificates.server.key)
    # A record of the handshake that is announced with 16 KB and comes byte by byte; or as many of them as are taken.
    begun = b"\x16\x03\x03\x40\x00\x0b\x00\xff\xff" + bytes(16_379)
    attacks: dict[str, Attack] = {"silence": Wire.wait, "drips": drip(begun), "flood": flood(begun)}
    with HostileCollector(attacks[attack], early=True, tls=context) as collector:
        told = run_agent(
            collector.port,
            {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(certificates.authority)},
            scheme="https",
        )
        assert collector.attacked == 3
        assert told["flushed"] and sorted(set(collector.names())) == names()
        assert told["peak"] < honest_peaks["http/protobuf"] + MOST_MORE_BYTES


@pytest.mark.long
@pytest.mark.parametrize("attack", ["a body in drips", "drips over TLS"])
def test_drips_over_tls_end_too(attack: str, tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server.certificate, certificates.server.key)
    said = HTTP_ATTACKS["a body in drips" if attack == "a body in drips" else "headers in drips"]
    with HostileCollector(said, tls=context) as collector:
        told = run_agent(
            collector.port,
            {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(certificates.authority)},
            scheme="https",
        )
        assert told["flushed"] and told["delivered"] == SPANS


@pytest.mark.long
@pytest.mark.parametrize("spooled", [True, False])
def test_what_waits_at_the_end_is_kept_or_counted_and_the_end_comes_in_time(
    spooled: bool, tmp_path: Path
) -> None:
    """Once the collector has taken something the end waits for it: but no longer than it may."""
    with HostileCollector(HTTP_ATTACKS["headers in drips"], 10**6) as collector:
        spool = {"RETROSPAN_EXPORTER_SPOOL": str(tmp_path / "spool")} if spooled else {}
        told = run_agent(collector.port, {"OTEL_EXPORTER_OTLP_TIMEOUT": "600", **spool}, flush_seconds=1)
    assert not told["flushed"] and told["took"] < 20
    assert told["accepted"] == SPANS and told["delivered"] == 0
    if spooled:
        assert (
            told["lost"] == {} and f"{SPANS} span(s) and " in told["said"] and " are left in" in told["said"]
        )
        with HostileCollector(None, 0) as collector:
            assert run_agent(collector.port, spool)["flushed"]
            wait_for(collector, 2 * SPANS)
    else:
        assert told["lost"] == {"the process ended before they were delivered": SPANS}


def wait_for(collector: HostileCollector, spans: int) -> None:
    deadline = time.monotonic() + 30
    while len(collector.names()) < spans:
        assert time.monotonic() < deadline, collector.names()
        time.sleep(0.05)


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_collector_that_asks_to_wait_for_ever_does_not_keep_the_agent(protocol: str) -> None:
    delay = base64.b64encode(delimited(1, b"\x08" + varint(10**9))).rstrip(b"=")

    def later(wire: Wire) -> None:
        wire.begin_answer()
        wire.end_answer(14, (b"google.rpc.retryinfo-bin", delay))

    grpc = protocol == "grpc"
    attack: Attack = later if grpc else lambda wire: wire.send(answer("503 Busy", "Retry-After: 1000000000"))
    with HostileCollector(attack, 10**6, grpc=grpc) as collector:
        told = run_agent(collector.port, {"RETROSPAN_EXPORTER_PROTOCOL": protocol}, flush_seconds=1)
    assert not told["flushed"] and told["took"] < 20
    assert told["lost"] == {"the process ended before they were delivered": SPANS}


def test_a_token_goes_nowhere_else(tmp_path: Path) -> None:
    with HostileCollector(None, 0) as elsewhere:
        leads = f"Location: http://localhost:{elsewhere.port}/v1/traces"
        for code in (301, 302, 303, 307, 308):
            attack: Attack = lambda wire, code=code: wire.send(answer(f"{code} Go", leads))  # type: ignore[misc]
            with HostileCollector(attack) as collector:
                told = run_agent(collector.port)
                assert told["flushed"] and sorted(set(collector.names())) == names()
                assert b"the-token" in collector.heads[0]
        assert elsewhere.heads == []
