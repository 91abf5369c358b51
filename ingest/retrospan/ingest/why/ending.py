"""How a run ended, where it did not end by itself: broken off, killed, lost, interrupted, still running."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.row_values import text_of, whole
from retrospan.ingest.why.columns import quote_of
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Sentence

_BECAUSE = {
    "no_root": "its root span never arrived",
    "missing_parent": "the parent of some of its spans never arrived",
    "not_ended": "it has begun, and nothing says that it ended",
    "not_interpreted": "it could not be interpreted",
}
_KILLED = {
    "spool": "its process is gone, and what that left behind says so",
    "resumed": "another run goes on from it",
}
#: So many calls that have not ended are named.
_MOST_CALLS = 5


def ending(rows: RunRows) -> Iterator[Sentence]:
    """Yield how the run ended, where it did not succeed and no failure tells, and which calls were under way."""
    outcome, because = text_of(rows.run, "outcome"), text_of(rows.run, "incomplete_because")
    if outcome == "error" and not rows.failures:
        rests = [Basis("runs", {"run_id": rows.run_id, "outcome": outcome})]
        rests.append(Basis("failures", {"run_id": rows.run_id}, is_there=False))
        yield Sentence("failed", ["It failed, and no failure is on record."], rests, None, rows.run_id)
    if outcome not in ("incomplete", "killed", "lost", "running"):
        return
    key = {"run_id": rows.run_id, "incomplete_because": because}
    steps = whole(rows.run, "steps") or 0
    last = f" The last step on record is {steps}." if steps else " No step of it is on record."
    if outcome == "running":
        yield Sentence(
            "running", [f"It is still running: this is what has arrived so far.{last}"], [Basis("runs", key)]
        )
        return
    kind = "interrupted" if because == "interrupted" else "broke_off"
    if outcome == "killed":
        said = f"It was killed: {_KILLED.get(text_of(rows.run, 'ended_by') or '', 'it did not end by itself')}.{last}"
    elif outcome == "lost":
        said = f"It is lost: its process stopped saying that it is alive.{last}"
    elif kind == "interrupted":
        said = f"It was interrupted, as one that waits for a person is.{last}"
    else:
        said = f"It broke off: {_BECAUSE.get(because or '', 'spans are missing')} ({because}).{last}"
    yield Sentence(kind, [said], [Basis("runs", key)], steps or None, rows.run_id)
    yield from _under_way(rows)


def _under_way(rows: RunRows) -> Iterator[Sentence]:
    open_calls = [call for call in rows.calls if call["status"] in ("incomplete", "unknown")]
    for call in open_calls[:_MOST_CALLS]:
        ordinal, step, asked_by = whole(call, "ordinal"), whole(call, "step"), whole(call, "asked_by")
        said: list[str | Quote] = [f"Tool call {ordinal}, of ", Quote(str(call["tool_name"]))]
        arguments = quote_of(call, "arguments", "arguments_length")
        said += [" with ", arguments] if arguments is not None else []
        by = f" by model call {asked_by}" if asked_by is not None else ""
        said.append(f", was asked for{by}, and nothing says that it ended: it may have happened.")
        basis = Basis(
            "tool_calls", {"run_id": rows.run_id, "ordinal": ordinal, "status": str(call["status"])}
        )
        yield Sentence("under_way", said, [basis], step, rows.run_id)
