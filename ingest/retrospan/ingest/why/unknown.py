"""What is not known of a run, and which switch would tell."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.row_values import text_of, whole
from retrospan.ingest.why.columns import counted
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Sentence
from retrospan.schemas.attributes import BACKOFF_MS

#: A layer of `missing_layers`: what is not known without it, and the layer of a switch or what to do.
_LAYERS = {
    "failure_context": (
        "Of a failure, or of where it broke off, the step, the input or the error is not on record",
        "record exceptions on the span that fails (error.type and an exception event)",
    ),
    "tool_outputs": ("What a tool returned is not on record", "results"),
    "retry_context": (
        "Why an attempt failed, or how long was waited before the next, is not on record",
        f"state {BACKOFF_MS} on the span of the attempt, and the error on that of one that fails",
    ),
    "decisions": (
        "Why it chose what it did is not on record: no decision is stated",
        "state retrospan.decision with options, choice and rationale",
    ),
    "task_position": ("Which step of its task it was at is not on record", "steps"),
}
_SWITCHES = ("results", "steps", "messages", "tools", "spans")


def switches_wanted(rows: RunRows) -> list[str]:
    """Return which layers' switches the sentences need."""
    wanted = [how for name, (_, how) in _LAYERS.items() if rows.missing is not None and rows.missing[name]]
    wanted += ["messages"] if rows.run["input"] is None else []
    wanted += ["tools"] if _without_spans(rows) else []
    wanted += ["spans"] if rows.run["outcome"] == "incomplete" else []
    return [layer for layer in dict.fromkeys(wanted) if layer in _SWITCHES]


def unknown(rows: RunRows) -> Iterator[Sentence]:
    """Yield what is not known, and how it would be."""
    if rows.run["input"] is None:
        said = f"What it was asked is not on record. {_how(rows, 'messages')}"
        yield Sentence(
            "no_input", [said], [Basis("runs", {"run_id": rows.run_id, "input": None})], None, rows.run_id
        )
    if rows.run["outcome"] == "incomplete":
        key = {"run_id": rows.run_id, "incomplete_because": text_of(rows.run, "incomplete_because")}
        said = f"What came after its last span is not on record. {_how(rows, 'spans')}"
        yield Sentence("no_end", [said], [Basis("runs", key)], None, rows.run_id)
    if count := _without_spans(rows):
        first = next(group for group in rows.groups("status") if group["first_step"] is None)
        basis = Basis(
            "tool_calls", {"run_id": rows.run_id, "ordinal": whole(first, "first_ordinal"), "step": None}
        )
        said = (
            f"When {counted(count, 'tool call')} began and ended, and with which error, is not on record: "
            f"{'it is' if count == 1 else 'they are'} known from messages only. {_how(rows, 'tools')}"
        )
        yield Sentence("no_tool_spans", [said], [basis], None, rows.run_id)
    for name, (said, how) in _LAYERS.items():
        if rows.missing is not None and rows.missing[name]:
            basis = Basis("missing_layers", {"run_id": rows.run_id, name: True})
            yield Sentence(name, [f"{said}. {_how(rows, how)}"], [basis], None, rows.run_id)
    yield from _doubts(rows)


def _without_spans(rows: RunRows) -> int:
    """Return how many tool calls have no span, of those that ran as far as is known."""
    groups = [group for group in rows.groups("status") if group["first_step"] is None]
    return sum(whole(group, "calls") or 0 for group in groups if group["status"] in ("ok", "error"))


def _doubts(rows: RunRows) -> Iterator[Sentence]:
    problems = whole(rows.run, "problems") or 0
    if problems and rows.problem is not None:
        # A run that could not be read at all has a traceback for a reason: its last line says why.
        reason = (text_of(rows.problem, "reason") or "").strip().rpartition("\n")[2]
        lead = f"The reading of the run is in doubt in {counted(problems, 'place')}, most often: "
        said: list[str | Quote] = [lead, Quote(reason), " (", Quote(str(rows.problem["field"])), ")."]
        key = {name: text_of(rows.problem, name) for name in ("reason", "field")}
        yield Sentence(
            "doubt",
            said,
            [Basis("interpretation_problems", {"run_id": rows.run_id, **key})],
            None,
            rows.run_id,
        )


def _how(rows: RunRows, how: str) -> str:
    return (
        f"To know it: {rows.switches.get(how, how)}." if how not in _SWITCHES or how in rows.switches else ""
    )
