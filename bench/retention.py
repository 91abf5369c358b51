"""`python -m bench.retention`: deletes a tenth of a million spans, and asks for the latest runs meanwhile.

Runs of 50 spans are loaded and interpreted; one in ten is a test, which is due after a day. The clock is then a day
and an hour ahead. The figures go to bench/RETENTION.md.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bench.machine import describe
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.load.ledger import Ledger
from retrospan.ingest.load.loader import Loader
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.retention.deletion.deleter import Deleter
from retrospan.ingest.retention.deletion.retention import Retention
from retrospan.ingest.retention.policy.policy import default_policy
from retrospan.ingest.retention.receipts.summary import Summary
from retrospan.ingest.settings.config import InterpreterSettings, LoaderSettings
from retrospan.ingest.verify.archived_segment import faults_in
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.queries.catalogue import install
from retrospan.schemas.attributes import RUN_KIND
from retrospan.schemas.store import Store

HERE = Path(__file__).resolve().parent
SPANS = 1_000_000
SPANS_OF_RUN = 50
LATEST = "SELECT run_id, agent_name, outcome, duration_ms FROM runs ORDER BY started_at DESC LIMIT 50"
_DAY = 86_400 * 10**9
_HOUR = 3_600 * 10**9
_RUNS_OF_REQUEST = 4
_ASKED_BEFORE = 30


def main() -> int:
    """Measure once; 1 when a mark is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.retention", description=__doc__)
    parser.add_argument(
        "--share", type=float, default=1.0, metavar="S", help="part of a million spans; writes no file"
    )
    parser.add_argument(
        "--data", type=Path, default=HERE / "data", metavar="DIR", help="where to write meanwhile"
    )
    arguments = parser.parse_args()
    place: Path = arguments.data / "retention"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        page, met = _measure(place, int(SPANS * arguments.share) // SPANS_OF_RUN)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(page)
    if arguments.share == 1.0:
        (HERE / "RETENTION.md").write_text(page, encoding="utf-8")
    return 0 if met else 1


def _measure(place: Path, runs: int) -> tuple[str, bool]:
    machine = describe(place)
    warehouse = EmbeddedWarehouse(place / "warehouse", memory_bytes=6 << 30)
    ledger = Ledger.open(place / "log" / "batches.jsonl")
    log = WriteAheadLog.open(place / "log", low_water_bytes=0)
    interpreter = Interpreter(warehouse, InterpreterSettings())
    loader = Loader(log, warehouse.connect, ledger, LoaderSettings(), on_loaded=interpreter.notice)
    loader.start()
    store = warehouse.connect()
    install(store)
    interpreter.start()
    began = time.monotonic()
    for request, spans in requests(runs):
        log.append(tenant="default", traces=request, items=spans)
    if not loader.wait_loaded(log.durable_sequence, 3600.0) or not interpreter.wait_idle(7200.0):
        raise TimeoutError("the runs were not loaded and interpreted in time")
    prepared = time.monotonic() - began
    while log.archive_next(loader.loaded_sequence):
        pass
    now = time.time_ns() + _DAY + _HOUR
    retention = Retention(
        warehouse,
        log,
        loader,
        loader.chains,
        Deleter(warehouse, interpreter),
        faults_in(log, loader.chains, 0),
        clock=lambda: now,
    )
    store.command("SYSTEM JEMALLOC PURGE")
    before = [_asked(store) for _ in range(_ASKED_BEFORE)]
    rest = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    with _Asking(warehouse) as asking:
        began = time.monotonic()
        summary = retention.apply(default_policy(), lambda progress: None, by="bench")
        took = time.monotonic() - began
    peak = resident("VmHWM")
    interpreter.stop()
    loader.stop(60.0)
    log.close()
    warehouse.close()
    return _page(machine, runs, prepared, summary, took, (rest, peak), (before, asking.seconds))


def _page(
    machine: dict[str, str],
    runs: int,
    prepared: float,
    summary: Summary,
    took: float,
    memory: tuple[int, int],
    asked: tuple[list[float], list[float]],
) -> tuple[str, bool]:
    rest, peak = memory
    before, during = map(statistics.median, asked)
    spans = sum(group.spans for group in summary.groups.values())
    marks = [
        ("deleting a tenth of the spans", "under 120 s", f"{took:.1f} s", took < 120),
        (
            "memory that this took, over what was taken before",
            "under 1 GB",
            f"{(peak - rest) / 1e9:.2f} GB",
            peak - rest < 1e9,
        ),
        (
            "the latest 50 runs meanwhile, median, against before",
            "under 2.00",
            f"{during / before:.2f}",
            during < 2 * before,
        ),
    ]
    lines = ["# Retention", "", "Written by `make bench-retention`.", ""]
    lines += [f"- {name}: {value}" for name, value in machine.items()]
    lines += [f"- Size: {runs * SPANS_OF_RUN:,} spans; the marks are meant for {SPANS:,}"]
    lines += ["", "| mark | wanted | measured | |", "|---|---|---|---|"]
    lines += [
        f"| {what} | {wanted} | {found} | {'met' if met else '**missed**'} |"
        for what, wanted, found, met in marks
    ]
    lines += [
        "",
        "| figure | |",
        "|---|---|",
        f"| runs, spans | {runs:,}, {runs * SPANS_OF_RUN:,} |",
        f"| loading and interpreting them | {prepared:.0f} s |",
        f"| deleted: runs, spans | {summary.units:,}, {spans:,} |",
        f"| segments of the archive: rewritten | {summary.archive.get('segments_rewritten', 0)} |",
        f"| segments of the archive: removed | {summary.archive.get('segments_removed', 0)} |",
        f"| memory before, at most | {rest / 1e9:.2f} GB, {peak / 1e9:.2f} GB |",
        f"| latest 50 runs before: median, slowest | {before * 1e3:.0f} ms, {max(asked[0]) * 1e3:.0f} ms |",
        f"| latest 50 runs meanwhile: median, slowest | {during * 1e3:.0f} ms, {max(asked[1]) * 1e3:.0f} ms |",
        f"| how often that was asked meanwhile | {len(asked[1])} |",
        "",
    ]
    return "\n".join(lines), all(met for *_, met in marks)


class _Asking:
    """A thread that asks for the latest runs again and again; `seconds` is how long each took."""

    def __init__(self, warehouse: EmbeddedWarehouse) -> None:
        self.seconds: list[float] = []
        self._store = warehouse.connect()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._store.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.seconds.append(_asked(self._store))
            self._stopping.wait(0.2)


def _asked(store: Store) -> float:
    began = time.perf_counter()
    assert len(store.rows(LATEST)) == 50
    return time.perf_counter() - began


def resident(name: str) -> int:
    """What /proc/self/status says of this process's memory, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise ValueError(name)


def requests(runs: int) -> Iterator[tuple[bytes, int]]:
    """Yield export requests of so many runs of `SPANS_OF_RUN` spans, each with how many spans it holds."""
    for first in range(0, runs, _RUNS_OF_REQUEST):
        request = ExportTraceServiceRequest()
        resource = request.resource_spans.add()
        resource.resource.attributes.add(key="service.name").value.string_value = "bench"
        scope = resource.scope_spans.add()
        for number in range(first, min(first + _RUNS_OF_REQUEST, runs)):
            scope.spans.extend(_run(number))
        yield request.SerializeToString(), len(scope.spans)


def _run(number: int) -> Iterator[Span]:
    trace = hashlib.md5(str(number).encode(), usedforsecurity=False).digest()
    start = time.time_ns()
    root = Span(trace_id=trace, span_id=(1).to_bytes(8, "big"), name="invoke_agent orla")
    _describe(root, start, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "orla"})
    if number % 10 == 0:
        _describe(root, start, {RUN_KIND: "test"})
    yield root
    for step in range(2, SPANS_OF_RUN + 1):
        span = Span(
            trace_id=trace, span_id=step.to_bytes(8, "big"), parent_span_id=root.span_id, name="execute_tool"
        )
        said = hashlib.sha256(f"{number} {step}".encode()).hexdigest()
        _describe(
            span,
            start + step * 10**6,
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": f"tool_{step % 7}",
                "gen_ai.tool.call.arguments": f'{{"query": "{said[:32]}"}}',
                "gen_ai.tool.call.result": f'{{"found": "{said * 6}"}}',
            },
        )
        yield span


def _describe(span: Span, start: int, attributes: dict[str, str]) -> None:
    span.start_time_unix_nano, span.end_time_unix_nano = start, start + 10**6
    for key, value in attributes.items():
        span.attributes.add(key=key).value.string_value = value


if __name__ == "__main__":
    sys.exit(main())
