"""One repetition: a load against the floor, the collector and the bare engine, one after the other, all fresh."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.load import Load, Shape, make_load
from bench.memory import MemoryWatch, held_by
from bench.processes import BenchError, Neighbours, Served, answer, child, first_line, pipe_of
from retrospan.ingest.log.archive import archived_in

Figures = dict[str, float]
"""By name. Rates are spans a second, sizes bytes, times seconds unless the name says ms."""

CONNECTIONS = 4
STEADY_RATE, STEADY_SPANS = 1_000, 15_000
_POLL_SECONDS = 0.05
_DEADLINE_SECONDS = 300.0
_RAW_TABLES = ("raw_spans", "raw_logs", "raw_rejects", "arrivals")


@dataclass(frozen=True, slots=True)
class Loads:
    """The loads of one shape: a few spans to warm up, some to interpret, many to take.

    Of a standard shape also some to interpret in runs ten times as long, and some to send at a steady rate.
    """

    warm_up: Load
    interpreted: Load
    taken: Load
    longer: Load | None = None
    steady: Load | None = None


def make_loads(shape: Shape, share: float, directory: Path) -> Loads:
    """Make all loads of a shape, `share` of their full size."""
    directory.mkdir(parents=True, exist_ok=True)
    sizes = {
        "warm_up": 300,
        "interpreted": round(shape.interpreted * share),
        "taken": round(shape.spans * share),
    }
    made = (
        make_load(shape, spans, seed, directory / f"{shape.name}-{name}.bin")
        for seed, (name, spans) in enumerate(sizes.items(), start=1)
    )
    loads = Loads(*made)
    if not shape.standard:
        return loads
    longer = make_load(shape.longer, sizes["interpreted"], 4, directory / f"{shape.name}-longer.bin")
    steady = make_load(shape, round(STEADY_SPANS * share), 5, directory / f"{shape.name}-steady.bin")
    return replace(loads, longer=longer, steady=steady)


def repeat(loads: Loads, place: Path) -> Figures:
    """Measure once; `place` is emptied before and after."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    figures: Figures = {}
    neighbours = Neighbours.now()
    try:
        # Before and after, for the rest of the machine changes its mind within seconds.
        before = _floor(loads, place)
        _collector(figures, loads, place)
        _note_acks(figures, "floor_", before, _floor(loads, place))
        _http(figures, loads, place)
        if loads.steady is not None:
            _steady(figures, loads.steady, place)
        _direct(figures, loads, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    figures["others"] = neighbours.cores_since()
    figures["acks_ratio"] = figures["acks"] / figures["floor_acks"]
    figures["p99_ratio"] = figures["p99_ms"] / figures["floor_p99_ms"]
    figures["queryable_ratio"] = figures["queryable"] / figures["direct"]
    return figures


def _floor(loads: Loads, place: Path) -> dict[str, Any]:
    errors, file = place / "floor.txt", place / "floor.bin"
    with child("bench.floor", str(file), errors=errors) as process:
        address = first_line(process, errors)
        send("grpc", address, loads.warm_up, place)
        sent = send("grpc", address, loads.taken, place)
    file.unlink()
    return sent


def _collector(figures: Figures, loads: Loads, place: Path) -> None:
    with Served(place / "data", place / "serve.txt") as served:
        figures["memory_idle"] = held_by(served.process.pid).all
        with MemoryWatch(served.process.pid) as watch:
            send("grpc", served.ports["grpc"], loads.warm_up, place)
            _await_runs(served, loads.warm_up.runs)
            _interpreting(figures, served, loads, place)
            _taking(figures, served, loads, place)
        figures["memory"] = watch.most.all


def _interpreting(figures: Figures, served: Served, loads: Loads, place: Path) -> None:
    """Send what is to be interpreted, wait until all of it is, and interpret it once more without the receiving."""
    load, warm_up = loads.interpreted, loads.warm_up
    spans, runs = load.spans + warm_up.spans, load.runs + warm_up.runs
    sent = send("grpc", served.ports["grpc"], load, place)
    figures["visible"] = load.spans / (_await_runs(served, runs) - sent["began"])
    _note_disk(figures, served, place / "data", load.bytes + warm_up.bytes)
    figures["interpreted"] = spans / served.rebuild()
    if served.number("SELECT count() FROM runs") != runs:
        raise BenchError("the rebuild gave another number of runs")


def _taking(figures: Figures, served: Served, loads: Loads, place: Path) -> None:
    """Send a flood: what counts is when it is acknowledged and when it can be asked for."""
    load = loads.taken
    known = loads.warm_up.spans + loads.interpreted.spans
    before = served.cpu_seconds()
    sent = send("grpc", served.ports["grpc"], load, place)
    _note_acks(figures, "", sent)
    seconds = await_spans(served, known + load.spans) - sent["began"]
    figures["queryable"] = load.spans / seconds
    figures["cpu_ms"] = (served.cpu_seconds() - before) / load.spans * 1e6
    _note_archive(figures, served, place / "data" / "log")


def _http(figures: Figures, loads: Loads, place: Path) -> None:
    with Served(place / "data-http", place / "serve.txt") as served:
        send("http", served.ports["http"], loads.warm_up, place)
        _await_runs(served, loads.warm_up.runs)
        _note_acks(figures, "http_", send("http", served.ports["http"], loads.taken, place))
    with Served(place / "data-gzip", place / "serve.txt") as served:
        send("http", served.ports["http"], loads.warm_up, place)
        _await_runs(served, loads.warm_up.runs)
        _note_acks(figures, "gzip_", send("gzip", served.ports["http"], loads.taken, place))


def _steady(figures: Figures, load: Load, place: Path) -> None:
    """Send at a rate that every collector has to bear, and see what memory that takes, in all its processes."""
    errors = place / "stream.txt"
    with Served(place / "data-steady", place / "serve.txt") as served:
        words = (str(load.path), str(STEADY_RATE), str(load.spans / STEADY_RATE))
        with (
            child("bench.stream", served.ports["grpc"], *words, errors=errors) as process,
            MemoryWatch(served.process.pid) as watch,
        ):
            first_line(process, errors)
            pipe_of(process.stdin).write("go\n")
            pipe_of(process.stdin).flush()
            pipe_of(process.stdout).read()
        figures["memory_steady"] = watch.most.all


def _direct(figures: Figures, loads: Loads, place: Path) -> None:
    errors = place / "direct.txt"
    files = [str(load.path) for load in (loads.interpreted, loads.taken, loads.longer) if load is not None]
    with child("bench.direct", str(place / "direct"), *files, errors=errors) as process:
        said = answer(process, errors)
    if said["seen"] != loads.interpreted.spans + loads.taken.spans or said["runs"] != loads.interpreted.runs:
        raise BenchError(f"the direct insert lost something: {said}")
    figures["direct"] = loads.taken.spans / said["insert"]
    for step in ("read", "core", "write"):
        figures[f"step_{step}"] = loads.interpreted.spans / said[step]
    if loads.longer is not None:
        figures["step_core_longer"] = loads.longer.spans / said["longer"]
        figures["linear"] = figures["step_core_longer"] / figures["step_core"]


def send(protocol: str, address: str, load: Load, place: Path) -> dict[str, Any]:
    """Send a load from a process of its own; what that said."""
    errors = place / "client.txt"
    words = ("bench.client", protocol, address, str(load.path), str(CONNECTIONS))
    with child(*words, errors=errors) as process:
        first_line(process, errors)
        start = pipe_of(process.stdin)
        start.write("go\n")
        start.flush()
        return answer(process, errors)


def _note_acks(figures: Figures, prefix: str, *sent: dict[str, Any]) -> None:
    """Note the rate of these sendings together, and their requests' latencies."""
    spans = sum(one["spans"] for one in sent)
    figures[f"{prefix}acks"] = spans / sum(one["ended"] - one["began"] for one in sent)
    percentiles = statistics.quantiles([latency for one in sent for latency in one["latencies"]], n=100)
    figures[f"{prefix}p50_ms"] = percentiles[49] * 1e3
    figures[f"{prefix}p99_ms"] = percentiles[98] * 1e3


def await_spans(served: Served, spans: int) -> float:
    """Return the time at which the SQL port answered that every span is there."""

    def loaded() -> bool:
        # The health page costs nothing; the count, which does, is asked for when it may be right.
        if served.health()["load_lag_records"]:
            return False
        return served.number("SELECT uniqExact(trace_id, span_id) FROM spans") == spans

    return _await(loaded, served, f"{spans} spans to be queryable")


def _await_runs(served: Served, runs: int) -> float:
    """Return the time at which the SQL port answered that every run is there and nothing waits."""

    def interpreted() -> bool:
        health = served.health()
        if health["load_lag_records"] or health["interpretation_lag_traces"]:
            return False
        return served.number("SELECT count() FROM runs") == runs

    return _await(interpreted, served, f"{runs} runs to be visible")


def _await(holds: Callable[[], bool], served: Served, what: str) -> float:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise BenchError(f"waited {_DEADLINE_SECONDS:.0f} s for {what}: {dict(served.health())}")
        time.sleep(_POLL_SECONDS)
    return time.monotonic()


def _note_archive(figures: Figures, served: Served, log: Path) -> None:
    """What archived segments take for each byte of theirs; waits for the first."""
    _await(lambda: bool(archived_in(log)), served, "a segment to be archived")
    segments = archived_in(log)
    figures["disk_archive"] = sum(one.packed for one in segments) / sum(one.size for one in segments)


def _note_disk(figures: Figures, served: Served, data: Path, raw_bytes: int) -> None:
    """Bytes on disk for each byte that was sent, by what they are kept for."""
    rows = served.rows(
        "SELECT table, sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'retrospan' GROUP BY table"
    )
    sizes = {str(table): int(size) for table, size in rows}
    figures["disk_raw"] = sum(sizes.get(table, 0) for table in _RAW_TABLES) / raw_bytes
    canonical = sum(size for table, size in sizes.items() if table.startswith("canon_"))
    figures["disk_canonical"] = canonical / raw_bytes
    figures["disk_log"] = sum(file.stat().st_size for file in (data / "log").iterdir()) / raw_bytes
