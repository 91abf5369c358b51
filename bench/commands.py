"""`python -m bench.commands`: how the commands of an investigation grow with the warehouse; writes bench/COMMANDS.md.

Each is a process of its own, as one types it, against a real `retrospan serve` over the warehouses of `bench.scale`. What
it takes at the port is the processor time of all processes of the collector; beside it stand the seconds from its start to
its end, and its own processor time.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.machine import describe
from bench.processes import TOP, BenchError, Served
from bench.scale import HERE, make, say, settle
from bench.scale_questions import Facts
from bench.scale_table import FLAT, busy_seconds
from bench.table import table

SPANS = (100_000, 1_000_000)


@dataclass(frozen=True, slots=True)
class Command:
    """One command; `{names}` are drawn anew for each repetition.

    `port_ms` is what it may take at the port, `whole_ms` from start to end; 0 for no mark. `flat` must not grow.
    """

    name: str
    words: tuple[str, ...]
    port_ms: float = 0.0
    whole_ms: float = 0.0
    flat: bool = False


def _of_one(name: str, *words: str, port_ms: float) -> Command:
    return Command(name, words, port_ms, 400.0, flat=True)


COMMANDS = (
    _of_one("show of one run", "show", "{run}", port_ms=60.0),
    _of_one("one step of it", "show", "{run}/2", "--full", port_ms=60.0),
    _of_one("state of one run", "state", "{run}/3", port_ms=60.0),
    _of_one("diff of two runs", "diff", "{run}", "{run2}", port_ms=60.0),
    _of_one("trace of an answer", "trace", "{run}", port_ms=200.0),
    _of_one("why one run", "why", "{run}", port_ms=500.0),
    _of_one("an entity", "entity", "order/{order}", port_ms=60.0),
    _of_one("cost of one run", "cost", "{run}", port_ms=60.0),
    Command("find a rare text", ("find", "{order}"), 100.0, 400.0),
    Command("find a text that is nowhere", ("find", "no such words {number}"), 100.0, 400.0),
    Command("newest runs", ("runs",), 300.0, 400.0),
    Command("findings of a day", ("findings", "--since", "{one_day_ago}"), 500.0),
    Command(
        "drift of a day",
        ("drift", "--baseline", "{ten_days_ago}..{one_day_ago}", "--candidate", "{one_day_ago}..{now}"),
        500.0,
    ),
    Command("why since a day ago", ("why", "--since", "{one_day_ago}"), 500.0),
)


@dataclass(frozen=True, slots=True)
class Took:
    """Milliseconds: the median of what it took at the port, the least until its end, the median of its own work."""

    port_ms: float
    whole_ms: float
    own_ms: float
    failure: str = ""


def main() -> int:
    """Make what is missing, run the commands, print the page and write it."""
    parser = argparse.ArgumentParser(prog="python -m bench.commands", description=__doc__)
    parser.add_argument(
        "--spans", type=int, action="append", metavar="N",
        help="a size; may be given again (100000 and 1000000)",
    )  # fmt: skip
    parser.add_argument(
        "--data", type=Path, default=HERE / "data" / "scale", metavar="DIR",
        help="where warehouses are kept, one folder for each size",
    )  # fmt: skip
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only commands whose name has the text; writes no file"
    )
    parser.add_argument("--repetitions", type=int, default=7, metavar="N", help="how often each is run (7)")
    arguments = parser.parse_args()
    asked = [command for command in COMMANDS if arguments.only in command.name]
    sizes: dict[int, dict[str, Took]] = {}
    for spans in sorted(arguments.spans or SPANS):
        place: Path = arguments.data / f"{spans}"
        make(place, spans)
        with Served(place, place / "errors.log") as served:
            settle(served)
            sizes[spans] = run_all(served, asked, arguments.repetitions)
    page = render(describe(HERE), sizes)
    print(page)
    if not arguments.only and arguments.spans is None:
        (HERE / "COMMANDS.md").write_text(page, encoding="utf-8")
    return 0


def run_all(served: Served, commands: Sequence[Command], repetitions: int) -> dict[str, Took]:
    """Run each command so many times, after once that does not count."""
    facts = Facts(served)
    found: dict[str, Took] = {}
    for command in commands:
        took = [_run(served, command, facts.draw()) for _ in range(repetitions + 1)][1:]
        failures = [each.failure for each in took if each.failure]
        found[command.name] = Took(
            statistics.median(each.port_ms for each in took),
            min(each.whole_ms for each in took),
            statistics.median(each.own_ms for each in took),
            failures[0] if failures else "",
        )
        say(f"{command.name:30} {found[command.name]}")
    return found


def _run(served: Served, command: Command, facts: Mapping[str, str]) -> Took:
    # An agent's time has a blank in it, and the span of two times none.
    words = [word.format_map({**facts, **_moments(facts)}) for word in command.words]
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("RETROSPAN_", "OTEL_"))
    }
    environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as an installed package has it: with its modules compiled
    before, own = busy_seconds(served.process.pid), _own_seconds()
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", *words],
        capture_output=True,
        text=True,
        cwd=TOP,
        env={**environ, "RETROSPAN_URL": f"http://{served.ports['sql']}"},
        check=False,
    )
    whole = time.monotonic() - began
    port = busy_seconds(served.process.pid) - before
    failure = "" if done.returncode in (0, 1) else (done.stderr or done.stdout)[-200:]
    if not failure and not (done.stdout or done.stderr):
        raise BenchError(f"{words!r} said nothing")
    return Took(port * 1e3, whole * 1e3, (_own_seconds() - own) * 1e3, failure)


def _moments(facts: Mapping[str, str]) -> dict[str, str]:
    return {
        name: facts[name].partition(".")[0].replace(" ", "T") + "Z"
        for name in ("now", "one_day_ago", "three_days_ago", "ten_days_ago")
    }


def _own_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def render(machine: Mapping[str, str], sizes: Mapping[int, Mapping[str, Took]]) -> str:
    """Return the page."""
    spans = sorted(sizes)
    lines = ["# Commands and the size of the warehouse", "", "Written by `python -m bench.commands`.", ""]
    lines += [f"- {name}: {fact}" for name, fact in machine.items()]
    lines += [
        "",
        "Milliseconds: processor at the port / from start to end / the command's own processor.",
        "",
    ]
    head = [
        "command",
        *(f"{size:,}" for size in spans),
        "exponent",
        "at the port",
        "",
        "from start to end",
        "",
    ]
    lines += table(
        head,
        [
            _row(command, [sizes[size].get(command.name) for size in spans], spans)
            for command in COMMANDS
            if command.name in sizes[spans[0]]
        ],
    )
    lines += ["", _HOW, ""]
    return "\n".join(lines)


def _row(command: Command, found: Sequence[Took | None], spans: Sequence[int]) -> list[str]:
    known = [took for took in found if took is not None]
    growth: float | None = None
    if len(known) > 1:
        growth = math.log(max(known[-1].port_ms, 1.0) / max(known[0].port_ms, 1.0)) / math.log(
            spans[-1] / spans[0]
        )
    failed = any(took.failure for took in known)
    flat = not command.flat or growth is None or growth <= FLAT
    port = flat and not failed and all(took.port_ms <= command.port_ms for took in known)
    whole = not failed and all(took.whole_ms <= command.whole_ms for took in known)
    return [
        command.name,
        *(_cell(took) for took in found),
        "" if growth is None else f"{growth:.2f}",
        *_verdict(command.port_ms, port),
        *_verdict(command.whole_ms, whole),
    ]


def _verdict(mark: float, met: bool) -> list[str]:
    return [f"under {mark:.0f}", "met" if met else "**missed**"] if mark else ["", ""]


def _cell(took: Took | None) -> str:
    if took is None:
        return ""
    return f"{took.port_ms:,.0f} / {took.whole_ms:,.0f} / {took.own_ms:,.0f}" + (
        f" **{took.failure}**" if took.failure else ""
    )


_HOW = """\
A command is asked about something else each time. At the port counts the median, from the kernel's clocks of all
processes of the collector, which tick every 10 ms, before and after; from start to end the least. The exponent is that
of a power law through the first and the last size: 0 stays, 1 grows as the warehouse does. What is about one run or
thing must not grow: an exponent of at most 0.1."""


if __name__ == "__main__":
    sys.exit(main())
