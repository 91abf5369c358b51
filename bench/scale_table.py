"""Asks the questions of the scale bench, and the page of what they took."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.processes import BenchError, Served, family
from bench.scale_questions import Facts, Question, filled
from bench.table import table

_TICKS = os.sysconf("SC_CLK_TCK")
#: A question is asked in one go until this much processor time went by: the clock ticks in 10 ms.
_ENOUGH_MS = 120.0
#: No more is asked of a question after so many seconds.
_PATIENCE_SECONDS = 20.0
_MOST_ASKED = 12
#: What an answer that does not grow may grow with the warehouse: the exponent.
FLAT = 0.1
#: A list may take so many times its mark at five million spans.
_AT_FIVE_MILLION = 1_000.0 / 300.0


@dataclass(frozen=True, slots=True)
class Answered:
    """What one question took at one size."""

    cpu_ms: float
    wall_ms: float
    """The least."""
    failure: str = ""


Sizes = dict[int, dict[str, Answered]]


def ask_all(
    served: Served, questions: Sequence[Question], repetitions: int, tell: Callable[[str], None]
) -> dict[str, Answered]:
    """Ask each question so many times and return what each took."""
    facts = Facts(served)
    idle = _idle_share(served)
    found = {}
    for question in questions:
        found[question.name] = _ask(served, question, facts, repetitions, idle)
        answered = found[question.name]
        if answered.failure:
            _wait_until_it_answers(served)
        tell(
            f"{question.name:55} {answered.cpu_ms:9.1f} ms cpu {answered.wall_ms:9.1f} ms {answered.failure[:80]}"
        )
    return found


def _ask(served: Served, question: Question, facts: Facts, repetitions: int, idle: float) -> Answered:
    """One answer warms up; then the processor time of a row of answers, and of one the mean. The median of the rows."""
    began = time.monotonic()
    cpu: list[float] = []
    wall: list[float] = []
    each = 1
    before, at = busy_seconds(served.process.pid), began
    try:
        for repetition in range(repetitions + 1):
            before, at = busy_seconds(served.process.pid), time.monotonic()
            for _ in range(each):
                asked = time.monotonic()
                served.rows(filled(question, facts.draw()))
                wall.append((time.monotonic() - asked) * 1e3)
            took = busy_seconds(served.process.pid) - before - idle * (time.monotonic() - at)
            one = max(0.0, took) * 1e3 / each
            if repetition or time.monotonic() - began > _PATIENCE_SECONDS:
                cpu.append(one)
            if repetition == 0:
                each = max(1, min(_MOST_ASKED, round(_ENOUGH_MS / max(one, 1.0))))
            if time.monotonic() - began > _PATIENCE_SECONDS:
                break
    except (BenchError, OSError) as error:
        said = str(error).partition("\n")[2] or type(error).__name__
        spent = max(0.0, busy_seconds(served.process.pid) - before) * 1e3
        return Answered(spent, (time.monotonic() - at) * 1e3, _kind(said))
    return Answered(statistics.median(cpu), min(wall))


def _wait_until_it_answers(served: Served) -> None:
    """After a failure the process of the warehouse may have been started again."""
    deadline = time.monotonic() + 300.0
    while time.monotonic() < deadline:
        try:
            served.rows("SELECT count() FROM runs")
        except (BenchError, OSError):
            time.sleep(1.0)
        else:
            return


def _kind(said: str) -> str:
    for word, short in (
        ("MEMORY_LIMIT", "memory"),
        ("memory limit", "memory"),
        ("TIMEOUT", "time"),
        ("Timeout", "time"),
    ):
        if word in said:
            return short
    return said[:200].replace("\n", " ").replace("|", " ")


def busy_seconds(pid: int) -> float:
    """Processor time of a process and of all below it that live."""
    total = 0.0
    for one in family(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / _TICKS
    return total


def _idle_share(served: Served) -> float:
    """What the collector takes of a core while nobody asks."""
    before, at = busy_seconds(served.process.pid), time.monotonic()
    time.sleep(4.0)
    return (busy_seconds(served.process.pid) - before) / (time.monotonic() - at)


def render(machine: Mapping[str, str], sizes: Sizes) -> str:
    """Return the page."""
    spans = sorted(sizes)
    lines = ["# Answers and the size of the warehouse", "", "Written by `python -m bench.scale`.", ""]
    lines += [f"- {name}: {fact}" for name, fact in machine.items()]
    lines += ["", "Processor milliseconds of one answer / the least milliseconds until it was there.", ""]
    names = list(dict.fromkeys(name for found in sizes.values() for name in found))
    from bench.scale_questions import QUESTIONS

    by_name = {question.name: question for question in QUESTIONS}
    head = ["question", *(f"{size:,}" for size in spans), "exponent", "mark", ""]
    rows = [_row(by_name[name], spans, sizes) for name in names]
    lines += table(head, rows)
    lines += ["", _HOW, ""]
    return "\n".join(lines)


def _row(question: Question, spans: Sequence[int], sizes: Sizes) -> list[str]:
    found = [sizes[size].get(question.name) for size in spans]
    cells = [_cell(one) for one in found]
    first, last = found[0], found[-1]
    growth = None
    if len(spans) > 1 and first and last and not first.failure and not last.failure:
        growth = math.log(max(last.cpu_ms, 1.0) / max(first.cpu_ms, 1.0)) / math.log(spans[-1] / spans[0])
    mark = f"under {question.mark:.0f}" if question.mark else ""
    verdict = "" if not question.mark else "met" if _met(question, spans, sizes, growth) else "**missed**"
    return [question.name, *cells, "" if growth is None else f"{growth:.2f}", mark, verdict]


def _met(question: Question, spans: Sequence[int], sizes: Sizes, growth: float | None) -> bool:
    for size in spans:
        one = sizes[size].get(question.name)
        if one is None:
            continue
        allowed = question.mark if size <= 1_000_000 or question.flat else question.mark * _AT_FIVE_MILLION
        if one.failure or one.cpu_ms > allowed:
            return False
    return not (question.flat and growth is not None and growth > FLAT)


def _cell(one: Answered | None) -> str:
    if one is None:
        return ""
    return f"{one.cpu_ms:,.0f} / {one.wall_ms:,.0f}" + (f" **{one.failure}**" if one.failure else "")


_HOW = """\
Processor time is that of all processes of the collector, from the kernel's clocks before and after a row of answers,
less what it takes while idle; each answer is to a question about something else. The exponent is that of a power law
through the first and the last size: 0 stays, 1 grows as the warehouse does. A mark holds at a million spans; what must
not grow has to keep it at every size and have an exponent of at most 0.1, a list may take 3.3 times as much at five
million. Warehouses are clones of 10,000 spans that were sent and interpreted; ids and days are their own.
Spans arrive every five seconds, as OpenTelemetry's batch processor sends them, and days that are over are merged, as
the engine does four hours later."""
