"""Bombs: `python -m bench.bombs` sends sixteen at once beside eight ordinary senders, shape after shape.

It writes bench/BOMBS.md: the highest memory of the process that receives, and how long the ordinary senders waited
for their acknowledgements. `--alone` measures the receivers and the log without a warehouse beside them.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

from bench.machine import describe
from bench.processes import BenchError, Served, answer, child, first_line, memory_of, pipe_of
from bench.table import GB, table

HERE = Path(__file__).resolve().parent
AT_ONCE, NEIGHBOURS = 16, 8
MIB_EACH = 60
MARK_BYTES = 1.0 * GB
MARK_SECONDS = 2.0
ROUNDS: tuple[tuple[str, str], ...] = (
    ("grpc", "empty resources"),
    ("grpc", "empty attributes"),
    ("grpc", "empty spans"),
    ("grpc", "many spans, each full"),
    ("grpc", "gzip: empty attributes"),
    ("grpc", "one text"),
    ("http", "empty resources"),
    ("http", "empty attributes"),
    ("http", "many spans, each full"),
    ("http", "gzip: empty attributes"),
    ("http", "gzip: empty resources in many members"),
    ("http", "JSON: empty resources"),
    ("http", "JSON: empty attributes"),
    ("http", "gzip: JSON, empty attributes"),
    ("http", "JSON: one text with an astral character"),
)


class Round(NamedTuple):
    """What one shape did."""

    protocol: str
    shape: str
    peak: int
    p99: float
    longest: float
    acknowledged: int
    again: int
    answers: dict[str, int]


def main() -> int:
    """Run every round; 1 when one could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m bench.bombs", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, metavar="N", help="how long each shape (10)")
    parser.add_argument("--alone", action="store_true", help="receivers and log only")
    parser.add_argument("--dry", action="store_true", help="write no file")
    parser.add_argument(
        "--data", type=Path, default=HERE / "data", metavar="DIR", help="where to write meanwhile"
    )
    arguments = parser.parse_args()
    place: Path = arguments.data / "bombs"
    rounds: list[Round] = []
    try:
        for protocol, shape in ROUNDS:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            rounds.append(_round(protocol, shape, arguments.seconds, place, alone=arguments.alone))
            print(rounds[-1], file=sys.stderr)
        page = _page(place, rounds, alone=arguments.alone)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(page)
    if not arguments.dry:
        (HERE / "BOMBS.md").write_text(page, encoding="utf-8")
    return 0


def _round(protocol: str, shape: str, seconds: float, place: Path, *, alone: bool) -> Round:
    errors = place / "errors.txt"
    with ExitStack() as stack:
        if alone:
            receiving = stack.enter_context(child("bench.receivers", str(place / "data"), errors=errors))
            ports = dict(word.split("=", 1) for word in first_line(receiving, errors).split())
            pid = receiving.pid
        else:
            served = stack.enter_context(Served(place / "data", errors))
            ports, pid = served.ports, served.process.pid
        words = (protocol, ports[protocol], shape, str(MIB_EACH), str(AT_ONCE), str(seconds))
        bomber = stack.enter_context(child("bench.bomber", *words, errors=errors))
        others = (ports["grpc"], str(NEIGHBOURS), str(seconds))
        neighbour = stack.enter_context(child("bench.neighbour", *others, errors=errors))
        for process in (bomber, neighbour):
            first_line(process, errors)
        for process in (neighbour, bomber):
            pipe_of(process.stdin).write("go\n")
            pipe_of(process.stdin).flush()
        waited, answers = answer(neighbour, errors), answer(bomber, errors)
        latencies = sorted(waited["latencies"])
        return Round(
            protocol,
            shape,
            memory_of(pid, "VmHWM"),
            quantiles(latencies, n=100)[98],
            latencies[-1],
            len(latencies),
            waited["again"],
            dict(Counter(answers).most_common()),
        )


def _page(place: Path, rounds: list[Round], *, alone: bool) -> str:
    peak, slowest = max(one.peak for one in rounds), max(one.p99 for one in rounds)
    what = "the receivers and the log, without a warehouse" if alone else "the process that receives"
    lines = [
        "# Bombs",
        "",
        (
            f"Written by `python -m bench.bombs{' --alone' if alone else ''}`: {AT_ONCE} requests of {MIB_EACH} MiB, "
            f"inflated, at once and\nagain and again, beside {NEIGHBOURS} senders of 100 spans every 50 ms."
        ),
        "",
        *(f"- {name}: {fact}" for name, fact in describe(place).items()),
        f"- Measured: {what}",
        (
            f"- Highest memory: {peak / GB:.2f} GB; wanted: under {MARK_BYTES / GB:.2f} GB, "
            + ("met" if peak < MARK_BYTES else "**missed**")
        ),
        (
            f"- Slowest p99 of the other senders: {slowest:.2f} s; wanted: under {MARK_SECONDS:.2f} s, "
            + ("met" if slowest < MARK_SECONDS else "**missed**")
        ),
        "",
    ]
    head = (
        "port",
        "shape",
        "peak",
        "others' p99",
        "longest",
        "acknowledged",
        "sent again",
        "answers to the bombs",
    )
    rows = [
        (
            one.protocol,
            one.shape,
            f"{one.peak / GB:.2f} GB",
            f"{one.p99 * 1e3:,.0f} ms",
            f"{one.longest * 1e3:,.0f} ms",
            f"{one.acknowledged:,}",
            f"{one.again:,}",
            ", ".join(f"{name}: {count:,}" for name, count in one.answers.items()),
        )
        for one in rounds
    ]
    return "\n".join([*lines, *table(head, rows), ""])


if __name__ == "__main__":
    sys.exit(main())
