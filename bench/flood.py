"""A flood: `python -m bench.flood [--minutes 10]` sends twice what the collector can take and watches its memory.

It first measures how many medium spans a second become queryable, then sends twice as many for the minutes given, each
span with a trace id of its own, retrying as exporters do when it is told to wait. Writes bench/FLOOD.md.

The log may grow to LOG_BYTES: what a disk bounds elsewhere. From then on senders are told to try again later.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bench.load import SHAPES, Load, make_load
from bench.machine import describe
from bench.measure import await_spans, send
from bench.memory import Held, held_by
from bench.processes import BenchError, Served, child, first_line, pipe_of
from bench.table import GB, table

HERE = Path(__file__).resolve().parent
LOG_BYTES = 8 << 30
MARK_BYTES = 1.5 * GB
SPANS = 20_000
_TIMES = 2.0
_MEASURED = 3  # loads that tell the capacity
_SAMPLE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen at one time, in seconds since the flood began."""

    at: float
    held: Held
    lag_records: int
    lag_traces: int


def main() -> int:
    """Run the flood; 1 when it could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m bench.flood", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, metavar="N", help="how long (10)")
    parser.add_argument(
        "--rate", type=float, metavar="N", help="spans a second, instead of twice what it takes"
    )
    parser.add_argument("--dry", action="store_true", help="write no file")
    parser.add_argument(
        "--data", type=Path, default=HERE / "data", metavar="DIR", help="where to write meanwhile"
    )
    arguments = parser.parse_args()
    place: Path = arguments.data / "flood"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        page = _flood(place, arguments.minutes * 60, arguments.rate)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(page)
    if not arguments.dry:
        (HERE / "FLOOD.md").write_text(page, encoding="utf-8")
    return 0


def _flood(place: Path, seconds: float, rate: float | None) -> str:
    shape = next(shape for shape in SHAPES if shape.name == "medium")
    load = make_load(shape, SPANS, 5, place / "flood.bin")
    settings = place / "flood.toml"
    settings.write_text(f"[limits]\nlog_bytes = {LOG_BYTES}\n", encoding="utf-8")
    with Served(place / "data", place / "serve.txt", "--config", str(settings)) as served:
        capacity = 0.0
        if rate is None:
            capacity = _capacity(served, load, place)
        began = time.monotonic()
        errors = place / "stream.txt"
        words = (served.ports["grpc"], str(load.path), str(rate or _TIMES * capacity), str(seconds))
        with child("bench.stream", *words, errors=errors) as process:
            first_line(process, errors)
            pipe_of(process.stdin).write("go\n")
            pipe_of(process.stdin).flush()
            samples = _watch(served, began, seconds)
            said = pipe_of(process.stdout).read()
    return _page(place, capacity, samples, said.splitlines())


def _capacity(served: Served, load: Load, place: Path) -> float:
    """How many spans a second become queryable when they are sent as fast as they are acknowledged."""
    began, spans = 0.0, 0
    for number in range(_MEASURED):
        copy = place / f"measured-{number}.bin"
        made = make_load(next(s for s in SHAPES if s.name == "medium"), load.spans, 100 + number, copy)
        sent = send("grpc", served.ports["grpc"], made, place)
        began = began or sent["began"]
        spans += made.spans
        copy.unlink()
    return spans / (await_spans(served, spans) - began)


def _watch(served: Served, began: float, seconds: float) -> list[Sample]:
    samples: list[Sample] = []
    while (at := time.monotonic() - began) < seconds:
        health = served.health() if int(at) % 5 == 0 else None
        last = samples[-1] if samples else None
        lag = (
            (int(health["load_lag_records"]), int(health["interpretation_lag_traces"]))
            if health is not None
            else (last.lag_records, last.lag_traces)
            if last is not None
            else (0, 0)
        )
        samples.append(Sample(at, held_by(served.process.pid), *lag))
        time.sleep(_SAMPLE_SECONDS)
    return samples


def _page(place: Path, capacity: float, samples: list[Sample], said: list[str]) -> str:
    """The flood as Markdown: the mark, then minute by minute."""
    most = max(one.held.all for one in samples)
    flat = _flatness(samples)
    met = most < MARK_BYTES
    lines = [
        "# A flood",
        "",
        "Written by `python -m bench.flood`: twice what is loaded, in medium spans.",
        "",
    ]
    lines += [f"- {name}: {fact}" for name, fact in describe(place).items()]
    lines += [
        f"- Queryable medium spans a second when they come as fast as they are acknowledged: {capacity:,.0f}",
        f"- Length: {samples[-1].at / 60:.1f} minutes",
        (
            f"- Peak of all its processes, as sampled: {most / GB:.2f} GB; wanted: under {MARK_BYTES / GB:.2f} GB, "
            f"{'met' if met else '**missed**'}"
        ),
        f"- Median of the last third over the median of the second: {flat:.2f} (1 is flat)",
        *(f"- {line}" for line in said),
        "",
    ]
    head = (
        "minute",
        "all, median",
        "highest",
        "interpreting, highest",
        "records behind",
        "traces behind",
    )
    rows = []
    minute = 60.0 if samples[-1].at > 120 else 10.0
    for number in range(int(samples[-1].at // minute) + 1):
        part = [one for one in samples if one.at // minute == number]
        if part:
            memory = sorted(one.held.all for one in part)
            rows.append(
                (
                    f"{(number + 1) * minute / 60:.1f}",
                    f"{memory[len(memory) // 2] / GB:.2f} GB",
                    f"{memory[-1] / GB:.2f} GB",
                    f"{max(one.held.interpreting for one in part) / GB:.2f} GB",
                    f"{part[-1].lag_records:,}",
                    f"{part[-1].lag_traces:,}",
                )
            )
    return "\n".join([*lines, *table(head, rows), ""])


def _flatness(samples: list[Sample]) -> float:
    third = len(samples) // 3
    medians = [
        sorted(one.held.all for one in part)[len(part) // 2]
        for part in (samples[third : 2 * third], samples[2 * third :])
        if part
    ]
    return medians[-1] / medians[0] if medians else 1.0


if __name__ == "__main__":
    sys.exit(main())
