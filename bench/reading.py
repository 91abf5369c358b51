"""`python -m bench.reading`: what readers of the SQL port wait for, and what they cost; writes bench/READING.md.

Measured at a real `retrospan serve`: the memory that `SELECT * FROM spans` of a gigabyte takes, the time from the
engine's first block to the client's first byte, and the time until a client that hung up has freed its place.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import random
import statistics
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import quote

import grpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bench.agents import set_attribute
from bench.long_run import requests_of
from bench.machine import describe
from bench.processes import BenchError, Served, family, memory_of

HERE = Path(__file__).resolve().parent
_EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_MB = 1e6
PAYLOAD = 5_000
SPANS_OF_TRACE = 200
#: `made` is the engine's clock when it makes a block.
FIRST = {
    "of numbers with a text": (
        "SELECT toUnixTimestamp64Micro(nowInBlock64(6, 'UTC')) AS made, number, repeat('x', 1000) AS text "
        "FROM numbers(1000000000000) FORMAT TSV"
    ),
    "of spans": "SELECT toUnixTimestamp64Micro(nowInBlock64(6, 'UTC')) AS made, * FROM spans FORMAT TSV",
}
#: One place, to see when it is free; and answers that are larger than the 512 MiB of the default.
LIMITS = """\
[limits]
queries = 1
query_seconds = 600
query_result_bytes = 4_000_000_000
"""
#: Runs until it is stopped: one that says nothing until its end, and one whose answer is never read.
ENDLESS = {
    "counts": "SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1",
    "streams": "SELECT number FROM numbers(1000000000000) FORMAT TSV",
}


@dataclass(slots=True)
class Found:
    """What was measured. Bytes and seconds."""

    sent_bytes: int = 0
    loaded: float = 0.0
    streamed: list[tuple[int, float]] = field(default_factory=list)  # bytes of the answer, seconds
    before: int = 0
    peaks: list[int] = field(default_factory=list)
    first: dict[str, list[float]] = field(default_factory=dict)
    freed: dict[str, list[float]] = field(default_factory=dict)


def main() -> int:
    """Measure, print the page and write it; 1 when a mark is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.reading", description=__doc__)
    parser.add_argument("--spans", type=int, default=200_000, help=f"of {PAYLOAD:,} bytes each")
    parser.add_argument("--times", type=int, default=10, help="how often what is short is measured")
    parser.add_argument("--dry", action="store_true", help="print only")
    arguments = parser.parse_args()
    found = Found()
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        (top / "collector.toml").write_text(LIMITS, encoding="utf-8")
        options = ("--config", str(top / "collector.toml"))
        with Served(top / "data", top / "stderr.txt", *options) as served:
            _load(served, arguments.spans, found)
            _stream(served, found)
            _first_bytes(served, arguments.times, found)
            _hang_up(served, arguments.times, found)
    page, met = render(found, arguments.spans, describe(HERE))
    print(page)
    if not arguments.dry:
        (HERE / "READING.md").write_text(page, encoding="utf-8")
    return 0 if met else 1


def spans(number: int) -> Iterator[Span]:
    """Spans with a payload each, of which no two are alike."""
    dice = random.Random(17)
    text = "".join(dice.choices('abcdefghijklmnopqrstuvwxyz     \n"{}:', k=1 << 20))
    began = time.time_ns() - number * 1_000_000
    for place in range(number):
        at = dice.randrange(len(text) - PAYLOAD)
        span = Span(
            trace_id=(1 + place // SPANS_OF_TRACE).to_bytes(16, "big"),
            span_id=(1 + place).to_bytes(8, "big"),
            name="work",
            start_time_unix_nano=began + place * 1_000_000,
            end_time_unix_nano=began + place * 1_000_000 + 500_000,
        )
        set_attribute(span, "payload", f"{place} {text[at : at + PAYLOAD]}")
        yield span


def _load(served: Served, number: int, found: Found) -> None:
    began = time.monotonic()
    with grpc.insecure_channel(served.ports["grpc"]) as channel:
        export = channel.unary_unary(_EXPORT)
        for body in requests_of(spans(number), 400):
            while True:
                try:
                    export(body, timeout=120)
                    break
                except grpc.RpcError as error:
                    # A sender is asked to wait while the log is read.
                    if error.code() not in (
                        grpc.StatusCode.UNAVAILABLE,
                        grpc.StatusCode.RESOURCE_EXHAUSTED,
                    ):
                        raise
                    time.sleep(1.0)
            found.sent_bytes += len(body)
    while not _is_idle(served.health()):
        time.sleep(0.5)
    stored = served.number("SELECT count() FROM spans")
    if stored != number:
        raise BenchError(f"{stored:,} spans are there, not {number:,}")
    found.loaded = time.monotonic() - began


def _is_idle(health: Mapping[str, object]) -> bool:
    return not health.get("load_lag_records") and not health.get("interpretation_lag_traces")


def _stream(served: Served, found: Found) -> None:
    """Read all of every span, three times; the first warms up what later ones need too."""
    for _ in range(3):
        _quiet(served)
        before = _resident(served)
        with _Peak(served) as peak:
            began = time.monotonic()
            size = 0
            with urllib.request.urlopen(_url(served, "SELECT * FROM spans FORMAT TSV"), timeout=600) as reply:
                while part := reply.read(1 << 20):
                    size += len(part)
            found.streamed.append((size, time.monotonic() - began))
        found.before = before
        found.peaks.append(peak.most - before)


def _first_bytes(served: Served, times: int, found: Found) -> None:
    for name, query in FIRST.items():
        for _ in range(times):
            _free(served)
            with _asked(served, query) as reply:
                line = reply.readline()
                here = time.time()
                found.first.setdefault(name, []).append(here - int(line.split(b"\t")[0]) / 1e6)


def _hang_up(served: Served, times: int, found: Found) -> None:
    for name, query in ENDLESS.items():
        for _ in range(times):
            _free(served)
            host, _, port = served.ports["sql"].rpartition(":")
            connection = http.client.HTTPConnection(host, int(port), timeout=60)
            connection.request("GET", f"/?query={quote(query)}")
            if name == "streams":
                # What is not read loses its place to who waits for one, so that nobody may ask for it here.
                reply = connection.getresponse()
                reply.read(1000)
                reply.close()
            else:
                while not _is_full(served):
                    time.sleep(0.01)
            connection.close()
            began = time.monotonic()
            _free(served)
            found.freed.setdefault(name, []).append(time.monotonic() - began)


@contextlib.contextmanager
def _asked(served: Served, query: str) -> Iterator[http.client.HTTPResponse]:
    """The answer from its beginning; who asked hangs up when the block ends."""
    host, _, port = served.ports["sql"].rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    try:
        connection.request("GET", f"/?query={quote(query)}")
        reply = connection.getresponse()
        if reply.status != 200:
            raise BenchError(reply.read().decode())
        yield reply
    finally:
        connection.close()


def _is_full(served: Served) -> bool:
    """Whether no place is free: the only one is taken."""
    try:
        with urllib.request.urlopen(_url(served, "SELECT 1"), timeout=60) as reply:
            reply.read()
        return False
    except urllib.error.HTTPError as error:
        with error:
            if error.code != 503:
                raise BenchError(error.read().decode()) from error
        return True


def _free(served: Served) -> None:
    """Return once a place is free."""
    while _is_full(served):
        time.sleep(0.01)


def _url(served: Served, query: str) -> str:
    return f"http://{served.ports['sql']}/?query={quote(query)}"


def _resident(served: Served) -> int:
    total = 0
    for pid in family(served.process.pid):
        with contextlib.suppress(OSError, BenchError):
            total += memory_of(pid, "VmRSS")
    return total


def _quiet(served: Served) -> None:
    """Return once the memory of all processes stays: what loading took is given back."""
    last, same = 0, 0
    while same < 5:
        now = _resident(served)
        same = same + 1 if abs(now - last) < 4 * _MB else 0
        last = now
        time.sleep(1.0)


class _Peak:
    """The most memory of all processes together, looked at fifty times a second."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.most = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.02):
            self.most = max(self.most, _resident(self._served))


def render(found: Found, number: int, machine: Mapping[str, str]) -> tuple[str, bool]:
    """Return the page, and whether every mark is met."""
    size, seconds = found.streamed[-1]
    first = [each for several in found.first.values() for each in several]
    freed = [each for several in found.freed.values() for each in several]
    most = max(found.peaks[1:])
    marks = [
        (
            "more memory while `SELECT * FROM spans` streams, all processes",
            "under 64 MB",
            f"{most / _MB:.0f} MB",
            most < 64 * _MB,
        ),
        (
            "from the engine's first block to the first byte, the slowest",
            "under 100 ms",
            f"{max(first) * 1e3:.1f} ms",
            max(first) < 0.1,
        ),
        (
            "until a place is free after a client hung up, the slowest",
            "under 2 s",
            f"{max(freed):.2f} s",
            max(freed) < 2.0,
        ),
    ]
    lines = ["# Reading", "", "Written by `python -m bench.reading`.", ""]
    lines += [f"- {name}: {fact}" for name, fact in machine.items()]
    lines += [f"- Data: {number:,} spans, {found.sent_bytes / 1e9:.2f} GB as sent", ""]
    lines += ["| mark | wanted | measured | |", "|---|---|---|---|"]
    lines += [
        f"| {what} | {wanted} | {got} | {'met' if met else '**missed**'} |"
        for what, wanted, got, met in marks
    ]
    lines += ["", "| figure | |", "|---|---|"]
    lines += [
        f"| loading and interpreting | {found.loaded:.0f} s |",
        f"| the answer, and how long it took | {size / 1e9:.2f} GB, {seconds:.1f} s |",
        f"| memory of all processes before it | {found.before / _MB:.0f} MB |",
        f"| more memory, each time | {', '.join(f'{each / _MB:.0f} MB' for each in found.peaks)} |",
        *(
            f"| first byte {name}: median, slowest of {len(several)} | {_range(several)} |"
            for name, several in found.first.items()
        ),
        *(
            f"| a place freed, of a query that {name}: median, slowest of {len(several)} | {_range(several)} |"
            for name, several in found.freed.items()
        ),
    ]
    lines += [
        "",
        "The first of three readings of everything warms up, and does not count. Memory is that of the collector and of all",
        "its processes together, looked at fifty times a second. The first byte is measured against the engine's clock in",
        "its first row (`nowInBlock64`); the engine gathers what it writes into pieces of 1 MiB, so that a few rows before a",
        "long pause come with the rows after it. There is one place (`limits.queries`): it is free when `SELECT 1` is",
        "answered. `limits.query_result_bytes`, 512 MiB by default, is raised.",
        "",
    ]
    return "\n".join(lines), all(met for *_, met in marks)


def _range(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds) * 1e3:.0f} ms, {max(seconds) * 1e3:.0f} ms"


if __name__ == "__main__":
    sys.exit(main())
