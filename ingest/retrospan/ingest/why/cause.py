"""What is on record of the cause of what went wrong first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrospan.ingest.row_values import text_of, whole
from retrospan.ingest.why.columns import quote_of
from retrospan.ingest.why.problems import Problem
from retrospan.ingest.why.repeats import loop_of
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Row, Sentence

_CLASSES = {
    "transient": "transient: the same may succeed when it is tried again",
    "systematic": "systematic: the same will fail when it is tried again",
    "architectural": "architectural: a limit of how the agent is built, such as its context, tokens or turns",
}


def cause(rows: RunRows, problems: Sequence[Problem]) -> Iterator[Sentence]:
    """Yield what explains the first problem, and how the run came from it to its end."""
    if not problems:
        return
    first = problems[0]
    if first.kind == "failure":
        yield from _of_failure(rows, first, problems)
    elif first.kind == "loop":
        yield from _of_loop(rows, first, problems)
    elif first.kind == "broke_off" and rows.run["ended_by"] is None:
        basis = Basis("runs", {"run_id": rows.run_id, "ended_by": None})
        yield Sentence("end_unknown", ["What ended it is not on record."], [basis], None, rows.run_id)
    yield from _end(rows, first, problems)


def _of_failure(rows: RunRows, problem: Problem, problems: Sequence[Problem]) -> Iterator[Sentence]:
    failure = problem.failure
    if failure is not None and failure.get("class") is not None:
        named = str(failure["class"])
        said = f"It is of the class {_CLASSES.get(named, named)}."
        if named == "transient" and _tried_in_vain(rows, problem, problems):
            said += " It was tried again in a loop, though: trying again is not what helps."
        key = {"run_id": rows.run_id, "span_id": text_of(failure, "span_id"), "class": named}
        yield Sentence("class", [said], [Basis("failures", key)], problem.sentence.step, rows.run_id)
    call = problem.call
    if call is None:
        return
    yield from _called_with(rows, call)
    result = quote_of(call, "result", "result_length")
    if result is not None and not _is_told(problem.sentence, result):
        yield Sentence(
            "result",
            ["What came back from that call: ", result, "."],
            [_basis(rows, call)],
            whole(call, "step"),
            rows.run_id,
        )
    yield from _tried_again(rows, call)


def _tried_in_vain(rows: RunRows, problem: Problem, problems: Sequence[Problem]) -> bool:
    """Return whether the failed call begins a loop that did not end with a success."""
    group = None if problem.call is None else loop_of(rows, problem.call)
    last = None if group is None else rows.call(group["last_ordinal"])
    in_loop = any(other.kind == "loop" and other.call is problem.call for other in problems)
    return in_loop and last is not None and last["status"] == "error"


def _of_loop(rows: RunRows, problem: Problem, problems: Sequence[Problem]) -> Iterator[Sentence]:
    failures = [other for other in problems if other.kind == "failure" and other.place >= problem.place]
    for failure in failures[-1:]:
        if failure.failure is not None and not failure.failure.get("handled", True):
            said = "The failure at the end comes after the loop: the loop is what went wrong, whatever class the error has."
            yield Sentence(
                "loop_first", [said], failure.sentence.rests_on, failure.sentence.step, rows.run_id
            )


def _called_with(rows: RunRows, call: Row) -> Iterator[Sentence]:
    arguments = quote_of(call, "arguments", "arguments_length")
    if arguments is None:
        said: list[str | Quote] = ["What it was called with is not on record."]
        basis = Basis(
            "tool_calls", {"run_id": rows.run_id, "ordinal": whole(call, "ordinal"), "arguments": None}
        )
    else:
        by = whole(call, "asked_by")
        asked = "" if by is None else f", as model call {by} asked for"
        said, basis = ["It was called with ", arguments, f"{asked}."], _basis(rows, call)
    yield Sentence("arguments", said, [basis], whole(call, "step"), rows.run_id)


def _tried_again(rows: RunRows, call: Row) -> Iterator[Sentence]:
    """Yield what became of the same call when it was made again."""
    groups = (
        each for each in rows.groups("arguments") if each["tool_name"] == call["tool_name"] and each["failed"]
    )
    group = next((each for each in groups if each["first_ordinal"] == call["ordinal"]), None)
    last = None if group is None else rows.call(group["last_ordinal"])
    if group is None or last is None:
        return
    step = whole(last, "step")
    where = f"step {step}" if step is not None else f"tool call {last['ordinal']}"
    how = (
        "succeeded"
        if last["status"] == "ok"
        else "failed too"
        if last["status"] == "error"
        else "has not ended"
    )
    made = whole(group, "calls") or 0
    said = f"The same call was made {made:,} times; the last, {where}, {how}."
    yield Sentence("tried_again", [said], [_basis(rows, call), _basis(rows, last)], step, rows.run_id)


def _end(rows: RunRows, first: Problem, problems: Sequence[Problem]) -> Iterator[Sentence]:
    outcome = text_of(rows.run, "outcome")
    basis = Basis("runs", {"run_id": rows.run_id, "outcome": outcome})
    if outcome == "ok":
        said = "The run ended ok all the same." if _is_last(rows, first) else "The run went on and ended ok."
        yield Sentence("end", [said], [basis], None, rows.run_id)
    elif outcome == "error" and len(problems) > 1 and problems[-1] is not first:
        said = f"{len(problems) - 1:,} more went wrong after it, and the run failed."
        rests = [basis, *problems[-1].sentence.rests_on]
        yield Sentence("end", [said], rests, problems[-1].sentence.step, rows.run_id)
    elif outcome == "error":
        yield Sentence("end", ["The run failed."], [basis], None, rows.run_id)


def _is_last(rows: RunRows, problem: Problem) -> bool:
    """Return whether no step began after a problem."""
    if problem.failure is not None:
        return not problem.failure.get("went_on", True)
    return problem.kind in ("cut_answer", "finding") and problem.place >= (whole(rows.run, "steps") or 0)


def _is_told(sentence: Sentence, result: Quote) -> bool:
    """Return whether the sentence has quoted it already."""
    return any(isinstance(part, Quote) and part.text == result.text for part in sentence.said)


def _basis(rows: RunRows, call: Row) -> Basis:
    return Basis(
        "tool_calls",
        {"run_id": rows.run_id, "ordinal": whole(call, "ordinal"), "status": text_of(call, "status")},
    )
