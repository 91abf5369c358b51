"""What went wrong in a run, or stands out in it, in the order in which it happened.

A problem is a failure, a loop that came to nothing, a run that broke off, a value that was out of date when it was read,
lost context in a run that did not end well, an answer that is not whole and that nothing made up for, or what a rule
found that has or may have done harm. What only stands out (a call made again, another way than a good run's) is a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrospan.ingest.row_values import text_of, whole
from retrospan.ingest.why.columns import quote_of
from retrospan.ingest.why.comparison import parting
from retrospan.ingest.why.cut_answers import cut_answers
from retrospan.ingest.why.ending import ending
from retrospan.ingest.why.found import found_by_rules
from retrospan.ingest.why.named_errors import named_errors
from retrospan.ingest.why.repeats import came_to_something, loops, repeats
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Row, Sentence

#: Of things in the same place, what is said first.
_RANK = (
    "cut_answer",
    "failure",
    "loop",
    "stale_input",
    "lost_context",
    "finding",
    "divergence",
    "repeat",
    "broke_off",
    "interrupted",
)
#: After everything that has a place.
END = float("inf")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that went wrong. `place` orders problems: the step, or where between steps it lies."""

    kind: str
    place: float
    sentence: Sentence
    call: Row | None = None
    failure: Row | None = None
    is_note: bool = False

    @property
    def order(self) -> tuple[float, int]:
        return self.place, _RANK.index(self.kind) if self.kind in _RANK else len(_RANK)


def problems_of(rows: RunRows) -> list[Problem]:
    """Return what went wrong, first things first."""
    found = [*_failures(rows), *_failed_calls(rows), *_loops(rows), *_stale(rows), *_lost(rows), *_end(rows)]
    found += [
        *_cut(rows),
        *_found(rows, found),
        *_divergence(rows, is_note=rows.run["outcome"] in ("ok", "running")),
    ]
    return sorted((problem for problem in found if not problem.is_note), key=lambda each: each.order)


def notes_of(rows: RunRows) -> list[Problem]:
    """Return what stands out and need not be wrong, first things first."""
    found = [*_loops(rows), *_repeats(rows), *_stale(rows), *_lost(rows), *_unanswered(rows), *_named(rows)]
    found += [
        *_cut(rows),
        *_found(rows, found),
        *_divergence(rows, is_note=rows.run["outcome"] in ("ok", "running")),
    ]
    return sorted((note for note in found if note.is_note), key=lambda each: each.order)


def _failures(rows: RunRows) -> Iterator[Problem]:
    for row in rows.failures:
        step = whole(row, "step")
        call = next((each for each in rows.calls if step is not None and each["step"] == step), None)
        said: list[str | Quote] = [_what(row, step)]
        if call is not None:
            said[0] = f"Step {step}, a call of "
            said += [Quote(str(call["tool_name"])), ","]
        said.append(" failed")
        said += _error(row)
        said.append(_after(row))
        rests = [Basis("failures", {"run_id": rows.run_id, "span_id": str(row["span_id"]), "step": step})]
        if call is not None:
            rests.append(Basis("tool_calls", {"run_id": rows.run_id, "ordinal": whole(call, "ordinal")}))
        sentence = Sentence("failure", said, rests, step, rows.run_id)
        yield Problem("failure", END if step is None else step, sentence, call, row)


def _after(row: Row) -> str:
    """Return what came after a failure. A run may be said to have ended ok though nothing did."""
    if row["handled"]:
        return ". The run went on." if row["went_on"] else ". No step began after it, and the run ended ok."
    return ". Its agent did nothing after it." if row["went_on"] else ". Nothing went on after it."


def _what(row: Row, step: int | None) -> str:
    if step is None:
        return "What is around the steps"
    return f"Step {step}, a request to the model," if row["origin"] == "reasoning" else f"Step {step}"


def _error(row: Row) -> Iterator[str | Quote]:
    """Yield what is on record of an error."""
    kind, message = text_of(row, "error_type"), quote_of(row, "error_message", "message_length")
    if not kind and message is None:
        yield "; no word of the error is on record"
        return
    yield ": "
    if kind and (message is None or kind != message.text):
        yield Quote(kind)
        if message is not None:
            yield ", "
    if message is not None:
        yield message


def _failed_calls(rows: RunRows) -> Iterator[Problem]:
    """Yield tool calls that failed and are not among the failures: tools without spans have none."""
    told = {row["step"] for row in rows.failures}
    for call in rows.calls:
        if call["status"] != "error" or (call["step"] is not None and call["step"] in told):
            continue
        ordinal, step, asked_by = whole(call, "ordinal"), whole(call, "step"), whole(call, "asked_by")
        where = f"Step {step}" if step is not None else f"Tool call {ordinal}"
        said: list[str | Quote] = [f"{where}, a call of ", Quote(str(call["tool_name"])), ", failed"]
        result = quote_of(call, "result", "result_length")
        error = [*_error(call)]
        if result is not None and len(error) == 1:
            error = [": the model was told ", result]
        said += [*error, "."]
        if step is None:
            said.append(" It is not a step: the tool has no span.")
        basis = Basis("tool_calls", {"run_id": rows.run_id, "ordinal": ordinal, "status": "error"})
        place = step if step is not None else END if asked_by is None else asked_by + 0.5
        yield Problem("failure", place, Sentence("failure", said, [basis], step, rows.run_id), call, call)


def _loops(rows: RunRows) -> Iterator[Problem]:
    for sentence, call, place in loops(rows):
        yield Problem("loop", place, sentence, call, is_note=came_to_something(rows, call))


def _repeats(rows: RunRows) -> Iterator[Problem]:
    for sentence, call, place in repeats(rows):
        yield Problem("repeat", place, sentence, call, is_note=True)


def _named(rows: RunRows) -> Iterator[Problem]:
    for sentence, place, call in named_errors(rows):
        yield Problem("named_error", place, sentence, call, is_note=True)


def _cut(rows: RunRows) -> Iterator[Problem]:
    for sentence, place, call, is_wrong in cut_answers(rows):
        yield Problem("cut_answer", place, sentence, call, is_note=not is_wrong)


def _found(rows: RunRows, told: Sequence[Problem]) -> Iterator[Problem]:
    """Yield what rules found, but for loops that are told already."""
    loops = {problem.place for problem in told if problem.kind == "loop"}
    for sentence, place, is_harm in found_by_rules(rows):
        if place not in loops:
            yield Problem("finding", place, sentence, is_note=not is_harm)


def _end(rows: RunRows) -> Iterator[Problem]:
    for sentence in ending(rows):
        yield Problem(sentence.kind, END, sentence)


def _stale(rows: RunRows) -> Iterator[Problem]:
    for row in rows.stale:
        step = whole(row, "step")
        entity = Quote(f"{row['entity_type']}/{row['entity_id']}")
        said: list[str | Quote] = [
            f"Step {step}" if step is not None else "The run",
            " read ",
            Quote(str(row["field"])),
            " of ",
            entity,
            " as ",
            Quote(text_of(row, "value") or "cleared"),
            ", which another run (",
            Quote(str(row["overwritten_run_id"])),
            ") had replaced before by " if row["stale_when_read"] else ") replaced later by ",
            Quote(text_of(row, "new_value") or "cleared"),
            ".",
        ]
        key = {
            name: text_of(row, name) for name in ("run_id", "entity_type", "entity_id", "field", "span_id")
        }
        sentence = Sentence("stale_input", said, [Basis("stale_reads", key)], step, rows.run_id)
        place = END if step is None else step
        yield Problem("stale_input", place, sentence, is_note=not row["stale_when_read"])


def _lost(rows: RunRows) -> Iterator[Problem]:
    """Yield lost context: a problem where the run did not end well, else a note."""
    ended_well = rows.run["outcome"] in ("ok", "running")
    for row in rows.context:
        lost, call = whole(row, "messages_lost"), whole(row, "model_call")
        step = rows.places.get(call or 0)
        basis = Basis("context_use", {"run_id": rows.run_id, "model_call": call})
        if lost:
            how = {"dropped": "left out", "summarised": "replaced by a summary", "truncated": "cut"}
            said = (
                f"Model call {call} (step {step}) was not given {lost:,} of the messages that model call "
                f"{row['goes_on']} had been given: {'it was' if lost == 1 else 'they were'} "
                f"{how.get(str(row['lost_how']), 'lost')}."
            )
            yield _context("lost_context", said, basis, rows, step, is_note=ended_well)
        elif row["context_limit"] is not None and row["input_tokens"] is not None:
            said = (
                f"Model call {call} (step {step}) was given {row['input_tokens']:,} tokens of the "
                f"{row['context_limit']:,} that the model takes."
            )
            yield _context("full_context", said, basis, rows, step, is_note=True)


def _context(
    kind: str, said: str, basis: Basis, rows: RunRows, step: int | None, *, is_note: bool
) -> Problem:
    sentence = Sentence(kind, [said], [basis], step, rows.run_id)
    return Problem(kind, END if step is None else step, sentence, is_note=is_note)


def _unanswered(rows: RunRows) -> Iterator[Problem]:
    """Yield calls of which nothing says whether they ran, in a run that ended well without an answer on record."""
    if rows.run["outcome"] != "ok" or rows.run["output"] is not None:
        return
    for call in rows.calls:
        if call["status"] in ("unknown", "incomplete"):
            ordinal = whole(call, "ordinal")
            said: list[str | Quote] = [
                "No answer of the run is on record, and nothing says whether tool call ",
                f"{ordinal}, of ",
                Quote(str(call["tool_name"])),
                ", was executed.",
            ]
            rests = [
                Basis("runs", {"run_id": rows.run_id, "output": None}),
                Basis(
                    "tool_calls", {"run_id": rows.run_id, "ordinal": ordinal, "status": str(call["status"])}
                ),
            ]
            yield Problem(
                "no_answer", END, Sentence("no_answer", said, rests, None, rows.run_id), call, is_note=True
            )
            return


def _divergence(rows: RunRows, *, is_note: bool) -> Iterator[Problem]:
    """Yield where the run left the way of a good one: that need not be wrong where it ended well."""
    found = parting(rows)
    if found is not None:
        sentence, place = found
        yield Problem("divergence", place, sentence, is_note=is_note)
