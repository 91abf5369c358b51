"""One program under the load of `bench.peers`: how fast it takes and answers, what it keeps, and what a kill takes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import TypeVar

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.load import Load, move, read_load
from bench.measure import send
from bench.peer_programs import Ports, Program, Sought
from bench.processes import TOP, BenchError, cpu_seconds_of_family, family, free_port

#: Runs that are asked for one by one.
ASKED = 20
_READY_SECONDS, _QUERYABLE_SECONDS, _POLL_SECONDS = 300.0, 300.0, 0.05
#: So long a program may take until it finds what it answers by its id.
_SEARCHABLE_SECONDS = 120.0
#: How often the memory is looked at.
_LOOK_SECONDS = 0.25
#: A program has settled when in so many seconds it takes less than this share of a core.
_QUIET_SECONDS, _QUIET_SHARE, _SETTLING_SECONDS = 5.0, 0.1, 180.0
Figures = dict[str, float]
T = TypeVar("T")


def sought_in(load: Load) -> list[Sought]:
    """Return the runs of a load, those that end last at the end."""
    services, ends, begins = dict[str, str](), dict[str, int](), dict[str, int]()
    conversations, counts = dict[str, str](), dict[str, int]()
    for request in read_load(load.path):
        for group in ExportTraceServiceRequest.FromString(request.body).resource_spans:
            resource = {each.key: each.value.string_value for each in group.resource.attributes}
            for span in (span for scope in group.scope_spans for span in scope.spans):
                trace_id = span.trace_id.hex()
                counts[trace_id] = counts.pop(trace_id, 0) + 1
                services[trace_id] = resource["service.name"]
                begins[trace_id] = min(
                    begins.get(trace_id, span.start_time_unix_nano), span.start_time_unix_nano
                )
                ends[trace_id] = max(ends.get(trace_id, 0), span.end_time_unix_nano)
                for each in span.attributes:
                    if each.key == "gen_ai.conversation.id":
                        conversations[trace_id] = each.value.string_value
    return [
        Sought(key, count, services[key], conversations[key], begins[key], ends[key])
        for key, count in counts.items()
    ]


def measure(program: Program, load: Load, killed: Load, place: Path) -> Figures:
    """Return the figures of one program. The spans of the loads are moved to the present: some search only there."""
    move(load, time.time_ns())
    figures = _taking(program, load, place)
    move(killed, time.time_ns())
    figures["lost"] = _lost(program, killed, place)
    return figures


def _taking(program: Program, load: Load, place: Path) -> Figures:
    figures, data, runs = Figures(), place / "kept", sought_in(load)
    asked = runs[:: max(1, len(runs) // (ASKED // 2))][: ASKED // 2] + runs[-(ASKED // 2) :]
    with running(program, data, place) as (pid, ports, started):
        figures["start_empty"] = started
        _settle(pid)
        figures["idle"] = _memory(pid) / 1e6
        before = cpu_seconds_of_family(pid)
        with _peak(pid) as peak:
            sent = send(program.protocol, program.address(ports), load, place)
            queryable = _await_runs(program, ports, asked)
            figures["cpu_queryable"] = (cpu_seconds_of_family(pid) - before) / load.spans * 1000
            figures["searchable"] = _await_found(program, ports, asked) - sent["began"]
            _settle(pid)
        figures["peak"] = peak[0] / 1e6
        figures["cpu_settled"] = (cpu_seconds_of_family(pid) - before) / load.spans * 1000
        figures["acks"] = load.spans / (sent["ended"] - sent["began"])
        figures["p99_ms"] = quantiles(sent["latencies"], n=100)[98] * 1e3
        figures["queryable"] = load.spans / (queryable - sent["began"])
        figures["trace_ms"] = median([_seconds(program.spans, ports, run)[0] for run in asked]) * 1e3
        found = [(*_seconds(program.find, ports, run), run) for run in asked]
        figures["find_ms"] = median([seconds for seconds, _, _ in found]) * 1e3
        figures["found"] = sum(run.trace_id in traces for _, traces, run in found)
    # What it keeps in memory for a while it has written by now.
    figures["disk"] = _size(data) / load.bytes
    with running(program, data, place) as (_, _, started):
        figures["start_full"] = started
    shutil.rmtree(data)
    return figures


def _lost(program: Program, load: Load, place: Path) -> float:
    data, runs = place / "killed", sought_in(load)
    with running(program, data, place, end=signal.SIGKILL) as (pid, ports, _):
        _settle(pid)
        send(program.protocol, program.address(ports), load, place)
    with running(program, data, place) as (pid, ports, _):
        _settle(pid)
        kept = sum(min(run.spans, program.spans(ports, run)) for run in runs)
    shutil.rmtree(data)
    return load.spans - kept


@contextmanager
def running(
    program: Program, data: Path, place: Path, end: signal.Signals = signal.SIGTERM
) -> Iterator[tuple[int, Ports, float]]:
    """Run a program on a directory until the block ends: its process, its ports, and the seconds until it answered."""
    data.mkdir(exist_ok=True)
    ports = Ports(free_port(), free_port(), (free_port(), free_port()))
    errors = place / "errors.txt"
    began = time.monotonic()
    with errors.open("wb") as log:
        # One of them sends spans about itself, to where nobody takes them.
        environ = {**os.environ, "OTEL_TRACES_SAMPLER": "always_off"}
        process = subprocess.Popen(program.words(data, ports), stdout=log, stderr=log, cwd=TOP, env=environ)
    try:
        while not program.is_ready(ports):
            if process.poll() is not None or time.monotonic() - began > _READY_SECONDS:
                tail = errors.read_text(encoding="utf-8", errors="replace")[-2000:]
                raise BenchError(f"{program.name} did not get ready\n{tail}")
            time.sleep(_POLL_SECONDS)
        yield process.pid, ports, time.monotonic() - began
    finally:
        process.send_signal(end)
        try:
            process.wait(timeout=_READY_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_runs(program: Program, ports: Ports, runs: Sequence[Sought]) -> float:
    """Return the time at which each of the runs was answered whole."""
    deadline = time.monotonic() + _QUERYABLE_SECONDS
    for run in runs:
        while program.spans(ports, run) < run.spans:
            if time.monotonic() > deadline:
                raise BenchError(f"{program.name} does not answer trace {run.trace_id} whole")
            time.sleep(_POLL_SECONDS)
    return time.monotonic()


def _await_found(program: Program, ports: Ports, runs: Sequence[Sought]) -> float:
    """Return the time at which each of the runs was found by its attribute, or at which that was given up."""
    deadline = time.monotonic() + _SEARCHABLE_SECONDS
    for run in runs:
        while run.trace_id not in program.find(ports, run) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
    return time.monotonic()


def _settle(pid: int) -> None:
    """Wait until a program rests."""
    deadline = time.monotonic() + _SETTLING_SECONDS
    while time.monotonic() < deadline:
        before = cpu_seconds_of_family(pid)
        time.sleep(_QUIET_SECONDS)
        if cpu_seconds_of_family(pid) - before < _QUIET_SECONDS * _QUIET_SHARE:
            return


@contextmanager
def _peak(pid: int) -> Iterator[list[float]]:
    """Watch the memory of a program's processes together; the list holds the most of it."""
    most, over = [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK_SECONDS):
            most[0] = max(most[0], _memory(pid))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def _memory(pid: int) -> int:
    """Return the bytes of all processes together; what several of them share counts once."""
    found = 0
    for each in family(pid):
        try:
            lines = Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii").splitlines()
        except OSError:
            continue  # it ended meanwhile
        found += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return found


def _size(folder: Path) -> int:
    os.sync()  # what is not written yet takes no blocks
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def _seconds(ask: Callable[[Ports, Sought], T], ports: Ports, run: Sought) -> tuple[float, T]:
    began = time.monotonic()
    answer = ask(ports, run)
    return time.monotonic() - began, answer
