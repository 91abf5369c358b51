"""`python -m bench.deep`: what one very deep run costs, and what it costs the others; writes bench/DEEP.md.

A run of 100,000 nested spans is sent over gRPC to a real `retrospan serve`, and a good run every two seconds from then on.
Measured are the seconds until each can be asked for, the most memory of every process, and what commands take to
list and show the deep run.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.agents import Agents, Style
from bench.deep_run import SHAPES, DeepRun
from bench.long_run import requests_of
from bench.machine import describe
from bench.processes import Served

HERE = Path(__file__).resolve().parent
_EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_MIB = 1 << 20
#: A good run is sent every so many seconds while the deep one is read.
EVERY_SECONDS = 2.0
MOST_SECONDS = 1200.0
#: Before it, so many are sent one by one, for comparison.
ALONE = 5


@dataclass(slots=True)
class Found:
    """What was measured of one kind of run. Seconds and bytes."""

    name: str
    sent_bytes: int = 0
    read: float = 0.0
    alone: list[float] = field(default_factory=list)
    good: list[float] = field(default_factory=list)
    outcome: str = ""
    steps: int = 0
    memory: dict[str, int] = field(default_factory=dict)
    commands: dict[str, tuple[float, int, int]] = field(default_factory=dict)  # seconds, bytes, exit code


def main() -> int:
    """Measure, print the page and write it."""
    parser = argparse.ArgumentParser(prog="python -m bench.deep", description=__doc__)
    parser.add_argument("--spans", type=int, default=100_000)
    parser.add_argument("--shapes", nargs="*", default=["model-calls", "agents", "other-tools", "mixed"])
    parser.add_argument("--dry", action="store_true", help="print only")
    parser.add_argument(
        "--many", type=int, default=50, help="last, so many runs of a fifth of the length at once"
    )
    arguments = parser.parse_args()
    found: list[Found] = []
    kinds = [(name, [DeepRun(arguments.spans, *SHAPES[name])]) for name in arguments.shapes]
    if arguments.many:
        short = arguments.spans // 5
        many = [DeepRun(short, *SHAPES["mixed"], seed=seed) for seed in range(1, arguments.many + 1)]
        kinds.append((f"mixed, {arguments.many} runs of {short:,}", many))
    for name, runs in kinds:
        found.append(measure(name, runs))
        print(_lines(found[-1]), flush=True)
    page = render(found, arguments.spans, describe(HERE))
    if not arguments.dry:
        (HERE / "DEEP.md").write_text(page, encoding="utf-8")
    return 0


def measure(name: str, runs: Sequence[DeepRun]) -> Found:
    """Send deep runs, and good runs beside them, to a collector of its own."""
    found = Found(name)
    run = runs[-1]
    left = {run.run_id for run in runs}
    good = _good_runs()
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        with (
            Served(top / "data", top / "stderr.txt") as served,
            grpc.insecure_channel(served.ports["grpc"]) as channel,
        ):
            export = channel.unary_unary(_EXPORT)
            peak: dict[str, int] = {}
            for _ in range(ALONE):
                run_id, body = next(good)
                export(body, timeout=60)
                began = time.monotonic()
                while not _there(served, [run_id]):
                    time.sleep(0.05)
                found.alone.append(time.monotonic() - began)
            for body in (body for run in runs for body in requests_of(run.spans(), 2_000)):
                export(body, timeout=60)
                found.sent_bytes += len(body)
            sent = time.monotonic()
            waiting: dict[str, float] = {}
            due = sent
            while not found.read or waiting:
                now = time.monotonic()
                if now >= due and not found.read:
                    run_id, body = next(good)
                    export(body, timeout=60)
                    waiting[run_id] = time.monotonic()
                    due = now + EVERY_SECONDS
                if now - sent > MOST_SECONDS:
                    break
                there = _there(served, [*left, *waiting])
                for run_id, (outcome, steps) in there.items():
                    if run_id in left:
                        found.outcome, found.steps = outcome, steps
                        left.discard(run_id)
                        found.read = 0.0 if left else time.monotonic() - sent
                    else:
                        found.good.append(time.monotonic() - waiting.pop(run_id))
                _note_peak(peak, served.process.pid)
                time.sleep(0.05)
            for words in (
                ("runs",),
                ("show", run.run_id[:12]),
                ("trace", run.run_id[:12]),
                ("state", f"{run.run_id[:12]}/1"),
            ):
                found.commands[words[0]] = _command(served, words)
                _note_peak(peak, served.process.pid)
            found.memory = peak
    return found


def _good_runs() -> Iterator[tuple[str, bytes]]:
    agents = Agents(11, Style((4, 8), 400))
    while True:
        request = ExportTraceServiceRequest()
        request.resource_spans.add().scope_spans.add().spans.extend(agents.run())
        trace_id = request.resource_spans[0].scope_spans[0].spans[0].trace_id
        yield trace_id.hex(), request.SerializeToString()


def _there(served: Served, run_ids: Sequence[str]) -> dict[str, tuple[str, int]]:
    named = ", ".join(f"'{run_id}'" for run_id in run_ids)
    rows = served.rows(f"SELECT run_id, outcome, steps FROM runs WHERE run_id IN ({named})")
    return {str(run_id): (str(outcome), int(steps)) for run_id, outcome, steps in rows}


def _note_peak(peak: dict[str, int], pid: int, name: str = "retrospan serve") -> None:
    """Note the most memory that a process and those below it ever had."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        below = [
            int(word)
            for file in Path(f"/proc/{pid}/task").glob("*/children")
            for word in file.read_text().split()
        ]
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return  # it has ended
    if b"retrospan.ingest.interpret.service.worker" in words:
        name = "reads long runs" if b"5" in words[-3:] else "reads runs"
    most = next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)
    if most:
        peak[name] = max(most, peak.get(name, 0))
    for child in below:
        _note_peak(peak, child, "its warehouse")


def _command(served: Served, words: Sequence[str]) -> tuple[float, int, int]:
    """Run a command; seconds, the most memory in bytes, its exit code."""
    environ = {**os.environ, "RETROSPAN_URL": f"http://{served.ports['sql']}"}
    began = time.monotonic()
    with open(os.devnull, "wb") as nowhere:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "retrospan.ingest.cli.main", *words],
            environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)],
        )
    _, status, usage = os.wait4(pid, 0)
    return time.monotonic() - began, usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status)


def _lines(found: Found) -> str:
    good = sorted(found.good)
    cells = [
        f"| {found.name} | {found.sent_bytes / 1e6:,.1f} | {found.read:,.1f} | {found.outcome}, {found.steps:,} steps",
        f"{sorted(found.alone)[ALONE // 2]:.1f} | {len(good)} | {good[len(good) // 2]:.1f} | {good[-1]:.1f}"
        if good
        else " | 0 | |",
        ", ".join(f"{name}: {size / _MIB:,.0f}" for name, size in found.memory.items()),
        ", ".join(
            f"{name} {seconds:.1f} s {size / _MIB:,.0f} MiB" + (f" (exit {code})" if code else "")
            for name, (seconds, size, code) in found.commands.items()
        ),
    ]
    return " | ".join(cells) + " |"


def render(found: Sequence[Found], spans: int, machine: dict[str, str]) -> str:
    """Return the page."""
    lines = [
        "# What one deep run costs",
        "",
        f"Written by `python -m bench.deep`: {spans:,} spans, each inside the one before it, sent to `retrospan serve`, and a",
        f"good run every {EVERY_SECONDS:.0f} s while that one is read. Seconds are from the acknowledgement to the answer.",
        "",
        *(f"- {name}: {machine[name]}" for name in ("Date", "Version", "Processor", "Memory", "Python")),
        "",
        "| nested | MB sent | read after, s | as | a good run before it, s | good runs beside it | median, s | slowest, s | most memory, MiB | commands |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *map(_lines, found),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
