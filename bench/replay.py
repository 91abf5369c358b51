"""`python -m bench.replay`: a run against its replay, a suite of golden runs, and what a replayed call costs; writes bench/REPLAY.md.

A real agent process asks a model server on this machine. What it asked makes the bundles that it is replayed from.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.machine import describe
from bench.processes import BenchError
from bench.replay_model import LocalModel, bundle_of, run_of
from bench.scale import say
from retrospan.schemas.bundle.container import write_bundle
from retrospan.schemas.bundle.golden import Golden, write_golden

HERE = Path(__file__).resolve().parent
AGENT = [sys.executable, "-m", "bench.replay_agent"]
QUESTION = "Is there any news of the winter stock?"
TIMES_FASTER, SUITE_SECONDS, CALL_SECONDS = 60.0, 60.0, 0.002
_MS = 1_000.0


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds that a command took, with all its processes."""

    wall: float
    processor: float
    printed: str


@dataclass(frozen=True, slots=True)
class Calls:
    """Seconds that the model calls of a run took, each."""

    walls: Sequence[float]
    processors: Sequence[float]


@dataclass(slots=True)
class Found:
    """What was measured. Of what was repeated each list holds every time."""

    calls: int
    wait: float
    live: float = 0.0
    replays: list[Took] = field(default_factory=list[Took])
    bare: list[Calls] = field(default_factory=list[Calls])
    replayed: list[Calls] = field(default_factory=list[Calls])
    suite_runs: int = 0
    suite_calls: int = 0
    suite: Took | None = None


def main() -> int:
    """Measure, print the page and write it; 1 when a mark is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.replay", description=__doc__)
    parser.add_argument("--calls", type=int, default=100, help="model calls of the long run")
    parser.add_argument(
        "--runs", type=int, default=200, help="golden runs of the suite, of 10 model calls each"
    )
    parser.add_argument("--times", type=int, default=5, help="how often the replay is measured")
    parser.add_argument("--dry", action="store_true", help="print only")
    arguments = parser.parse_args()
    load = f"{os.getloadavg()[0]:.1f} on average when it began, of others"
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        found = measure(place, arguments.calls, 0.4, arguments.times)
        measure_suite(found, place, arguments.runs, 10)
        page, met = render(found, {**describe(place), "Load": load})
    print(page)
    if not arguments.dry:
        (HERE / "REPLAY.md").write_text(page, encoding="utf-8")
    return 0 if met else 1


def measure(place: Path, calls: int, wait: float, times: int) -> Found:
    """Measure one run: live, answered at once, and replayed."""
    found = Found(calls, wait)
    asked = list[bytes]()
    for _ in range(times):
        with LocalModel(calls, 0.0) as model:
            found.bare.append(_calls(run([*AGENT, QUESTION], MODEL_URL=model.url).printed))
            asked = model.asked
    file = place / "run.bundle"
    write_bundle(file, bundle_of(run_of(asked, QUESTION, "run-1")))
    say(f"{calls} calls, each answered after {wait * _MS:.0f} ms")
    with LocalModel(calls, wait) as model:
        found.live = run([*AGENT, QUESTION], MODEL_URL=model.url).wall
    say("its replay")
    for _ in range(times):
        took = run(
            _retrospan("replay", str(file), "--", *AGENT, QUESTION),
            MODEL_URL="http://model.invalid/v1/chat/completions",
        )
        found.replays.append(took)
        found.replayed.append(_calls(took.printed))
    return found


def measure_suite(found: Found, place: Path, runs: int, calls: int) -> None:
    """Measure a folder of golden runs, each another question."""
    folder = place / "golden"
    with LocalModel(calls, 0.0) as model:
        run([*AGENT, QUESTION], MODEL_URL=model.url)
        asked = model.asked
    for number in range(runs):
        question = f"{QUESTION} ({number})"
        own = [body.replace(QUESTION.encode(), question.encode()) for body in asked]
        recorded = run_of(own, question, f"run-{number}")
        golden = Golden(name=f"news-{number}", run_id=recorded.run_id, command=(*AGENT, "{question}"))
        write_golden(folder, golden, bundle_of(replace(recorded)))
    say(f"a suite of {runs} golden runs")
    found.suite_runs, found.suite_calls = runs, calls
    found.suite = run(
        _retrospan("golden", "run", "--dir", str(folder)),
        MODEL_URL="http://model.invalid/v1/chat/completions",
    )
    if f"{runs} of {runs} golden run" not in found.suite.printed:
        raise BenchError(f"not all were done again: {found.suite.printed[-500:]}")


def _retrospan(*words: str) -> list[str]:
    return [sys.executable, "-m", "retrospan.ingest.cli.main", *words]


def run(command: Sequence[str], **environ: str) -> Took:
    """Run a command from the top of the repository. Raises BenchError if it fails."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RETROSPAN_", "OTEL_"))}
    done = subprocess.run(
        command, cwd=HERE.parent, env={**kept, **environ}, capture_output=True, text=True, check=False
    )
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise BenchError(
            f"{' '.join(command)} ended with {done.returncode}: {(done.stdout + done.stderr)[-1000:]}"
        )
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(wall, processor, done.stdout)


def _calls(printed: str) -> Calls:
    told = json.loads(printed)
    return Calls(told["walls"], told["processors"])


def render(found: Found, machine: Mapping[str, str]) -> tuple[str, bool]:
    """Return the page, and whether every mark is met."""
    marks = _marks(found)
    lines = ["# Replay", "", "Written by `python -m bench.replay`.", ""]
    lines += [f"- {name}: {fact}" for name, fact in machine.items()]
    lines += ["", "| mark | wanted | measured | |", "|---|---|---|---|"]
    lines += [
        f"| {what} | {wanted} | {got} | {'met' if met else '**missed**'} |"
        for what, wanted, got, met in marks
    ]
    walls = sorted(took.wall for took in found.replays)
    lines += ["", f"| {found.calls} model calls, as a process | wall | processor |", "|---|---|---|"]
    lines.append(f"| live, {found.wait * _MS:.0f} ms a call | {found.live:.2f} s | |")
    lines.append(
        f"| replayed, least and median of {len(walls)} | {walls[0]:.2f} s, {walls[len(walls) // 2]:.2f} s "
        f"| {min(took.processor for took in found.replays):.2f} s |"
    )
    lines += ["", "| model calls of a run | answered by a server at once | replayed |", "|---|---|---|"]
    for name, part in _parts(found.calls).items():
        bare, replayed = (_least(each, part) for each in (found.bare, found.replayed))
        lines.append(f"| {name} | {_pair(bare)} | {_pair(replayed)} |")
    lines += [
        "",
        "The replay is `retrospan replay FILE -- …`, the suite `retrospan golden run`: both with the start of every process.",
        "The agent asks through httpx; each request holds the whole conversation, two messages more than the one before.",
        "Times of calls are means, wall and processor of the agent's process, and the least of several runs counts, for",
        "others use the machine as well. A replayed call answers without a socket, so that it may cost less than a bare one.",
        "The marks are meant for a machine that does nothing else; `Load` says what others had it do.",
        "",
    ]
    return "\n".join(lines), all(met for *_, met in marks)


def _parts(calls: int) -> dict[str, slice]:
    # The first call loads what a client loads late.
    return {
        "the first": slice(0, 1),
        f"2 to {calls}": slice(1, None),
        f"the last {calls // 10}": slice(-(calls // 10), None),
    }


def _least(times: Sequence[Calls], part: slice) -> tuple[float, float]:
    walls = [sum(own := each.walls[part]) / len(own) for each in times]
    processors = [sum(own := each.processors[part]) / len(own) for each in times]
    return min(walls), min(processors)


def _pair(seconds: tuple[float, float]) -> str:
    return f"{seconds[0] * _MS:.2f} ms, {seconds[1] * _MS:.2f} ms"


def _marks(found: Found) -> list[tuple[str, str, str, bool]]:
    faster = found.live / min(took.wall for took in found.replays)
    marks = [
        (
            f"a run of {found.calls} calls, against live at {found.wait * _MS:.0f} ms a call",
            f"at least {TIMES_FASTER:.0f} times",
            f"{faster:.1f} times",
            faster >= TIMES_FASTER,
        )
    ]
    if found.suite is not None:
        took = found.suite
        marks.append(
            (
                f"a suite of {found.suite_runs} runs of {found.suite_calls} calls",
                f"under {SUITE_SECONDS:.0f} s",
                f"{took.wall:.1f} s, processor {took.processor:.1f} s",
                took.wall < SUITE_SECONDS,
            )
        )
    bare, replayed = (_least(each, slice(None)) for each in (found.bare, found.replayed))
    for name, place in (("wall", 0), ("processor", 1)):
        more = replayed[place] - bare[place]
        marks.append(
            (
                f"replay's overhead a call, {name}",
                f"under {CALL_SECONDS * _MS:.0f} ms",
                f"{more * _MS:.2f} ms",
                more < CALL_SECONDS,
            )
        )
    return marks


if __name__ == "__main__":
    sys.exit(main())
