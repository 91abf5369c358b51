"""`python -m bench.run_length`: what interpreting a run costs, by the length of the run; writes bench/RUN_LENGTH.md.

Each length is measured in a process of its own: one thread's processor time and the memory gained, from the decoded spans
of the whole run to its rows. The pure core: no warehouse, no process between.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.agents import Agents, Style
from bench.long_run import LongRun, requests_of
from bench.machine import describe
from retrospan.ingest.interpret.grouping.grouping import is_run
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.run import interpret, read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span

HERE = Path(__file__).resolve().parent
LENGTHS = (50, 500, 5_000, 50_000)
#: Loads of many runs: the recorded ones, and made-up ones of 50 steps with the whole history in every chat.
RECORDED, FIFTY_STEPS = "recorded", "50 steps"
WANTED = 3_000
_MIB = 1 << 20


def main() -> int:
    """Measure all, print the page and write it."""
    parser = argparse.ArgumentParser(prog="python -m bench.run_length", description=__doc__)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(_measure(arguments.one)))
        return 0
    found = {str(load): _in_child(str(load)) for load in (*LENGTHS, RECORDED, FIFTY_STEPS)}
    page = render(found, describe(HERE))
    print(page)
    (HERE / "RUN_LENGTH.md").write_text(page, encoding="utf-8")
    return 0


def _in_child(load: str) -> dict[str, float]:
    # The recordings and what reads them belong to the tests.
    environ = {**os.environ, "PYTHONPATH": str(HERE.parent / "tests")}
    words = [sys.executable, "-m", "bench.run_length", "--one", load]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=HERE.parent, env=environ)
    return {name: float(value) for name, value in json.loads(done.stdout).items()}


def _measure(load: str) -> dict[str, float]:
    from spans import spans_of_requests

    exports = _exports(load)
    sent_spans = [span for traces, logs in exports for span in spans_of_requests(traces, logs)]
    runs: dict[str, list[Span]] = {}
    for span in sent_spans:
        runs.setdefault(span.trace_id, []).append(span)
    sent = sum(len(body) for traces, logs in exports for body in (*traces, *logs))
    exports.clear()
    before, began = _memory("VmRSS"), time.thread_time()
    rows = 0
    for run_id, spans in runs.items():
        problems = ParseIssues()
        readings = read_spans(spans, problems)
        if is_run(readings):
            of_run = rows_of(interpret(run_id, readings, problems, None), "default", 1, None)
            rows += len(of_run.values) + len(of_run.steps) + len(of_run.edges)
    took = time.thread_time() - began
    return {
        "spans": len(sent_spans),
        "bytes": sent,
        "seconds": took,
        "memory": max(0, _memory("VmHWM") - before),
        "rows": rows,
    }


def _exports(load: str) -> list[tuple[list[bytes], list[bytes]]]:
    """Return export requests (traces, logs) of each run or recording."""
    if load == RECORDED:
        from fix_recordings import load_recording, manifest

        recordings = [load_recording(name) for name in sorted(manifest())]
        return [([*recording.traces], [*recording.logs]) for recording in recordings]
    if load == FIFTY_STEPS:
        agents = Agents(5, Style((50, 50), 600))
        requests = [ExportTraceServiceRequest() for _ in range(20)]
        for request in requests:
            request.resource_spans.add().scope_spans.add().spans.extend(agents.run())
        return [([request.SerializeToString()], []) for request in requests]
    return [([*requests_of(LongRun(int(load), 7).spans(), 500)], [])]


def _memory(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:"))


def render(found: dict[str, dict[str, float]], machine: dict[str, str]) -> str:
    """Return the page."""
    lengths = [found[str(length)] for length in LENGTHS]
    longest = lengths[-1]
    lines = [
        "# What a run costs by its length",
        "",
        "Written by `python -m bench.run_length`: the pure core, one thread, from decoded spans to rows.",
        "",
        *(f"- {name}: {machine[name]}" for name in ("Date", "Version", "Processor", "Memory", "Python")),
        "",
        "| spans | MB sent | seconds | spans/s | memory gained, MiB | KiB per span | rows per span |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {one['spans']:,.0f} | {one['bytes'] / 1e6:,.1f} | {one['seconds']:.3f} | {one['spans'] / one['seconds']:,.0f} "
            f"| {one['memory'] / _MIB:,.1f} | {one['memory'] / one['spans'] / 1024:.1f} | {one['rows'] / one['spans']:.2f} |"
            for one in lengths
        ),
        "",
        "One agent that repeats its last 20 messages in every request, so what it sends grows with its length. Bars are",
        "logarithmic: where time and memory are linear in the length, each is 15 characters longer than the one before.",
        "",
        "```text",
        *_chart("seconds", [one["seconds"] for one in lengths], longest["seconds"]),
        "",
        *_chart("MiB", [one["memory"] / _MIB for one in lengths], longest["memory"] / _MIB),
        "```",
        "",
        f"Many runs, wanted at least {WANTED:,} spans a second:",
        "",
        "| runs | spans | bytes per span | spans/s | |",
        "|---|---|---|---|---|",
        *(_mark(name, found[name]) for name in (RECORDED, FIFTY_STEPS)),
        "",
    ]
    return "\n".join(lines)


def _mark(name: str, one: dict[str, float]) -> str:
    rate = one["spans"] / one["seconds"]
    met = "met" if rate >= WANTED else "**missed**"
    return f"| {name} | {one['spans']:,.0f} | {one['bytes'] / one['spans']:,.0f} | {rate:,.0f} | {met} |"


def _chart(unit: str, values: list[float], highest: float) -> list[str]:
    """Return a bar per length; four decades of the unit are 60 characters."""
    lines = []
    for length, value in zip(LENGTHS, values, strict=True):
        share = 1 + math.log10(value / highest) / 4 if value > 0 else 0.0
        lines.append(f"{length:>7,} spans  {'█' * max(1, round(60 * share)):<60}  {value:,.3g} {unit}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
