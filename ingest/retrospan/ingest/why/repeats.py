"""Calls that a run made again: loops, and calls that came back though nothing stands between to explain it."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.empty_result import is_empty
from retrospan.ingest.row_values import text_of, whole
from retrospan.ingest.why.columns import quote_of, steps_text
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Row, Sentence

#: Calls in a row that are a loop.
LEAST = 3
#: A sentence about calls, the first of them, and where they begin.
Repeated = tuple[Sentence, Row | None, float]


def loops(rows: RunRows) -> Iterator[Repeated]:
    """Yield the calls of one tool in a row that were equal, or that all came back empty, whatever they looked for."""
    listed = rows.own_loops()
    for loop in listed:
        group = next((each for each in rows.groups("arguments") if _is_of(each, loop)), None)
        key = {
            "run_id": rows.run_id,
            "tool_name": text_of(loop, "sign"),
            "first_step": whole(loop, "first_step"),
        }
        yield _equal(rows, text_of(loop, "sign") or "", loop, group, Basis("loops", key))
    for group in rows.groups("arguments"):
        if _is_loop(group) and group["first_step"] is None:
            yield _equal(rows, str(group["tool_name"]), group, group, None)
    for group in rows.groups("result"):
        call = rows.call(group["first_ordinal"])
        if _is_loop(group) and call is not None and is_empty(text_of(call, "result")):
            yield _empty(rows, group, call)


def came_to_something(rows: RunRows, call: Row | None) -> bool:
    """Return whether the calls that begin with this one ended with another result, or a success, in a run that went well.

    So ends what waits for something, or tries again until it works.
    """
    group = None if call is None else loop_of(rows, call)
    last = None if group is None else rows.call(group["last_ordinal"])
    if (
        group is None
        or last is None
        or last["status"] != "ok"
        or rows.run["outcome"] not in ("ok", "running")
    ):
        return False
    return bool(group["failed"]) or (not group["results_unknown"] and (whole(group, "results") or 0) > 1)


def loop_of(rows: RunRows, call: Row) -> Row | None:
    """Return the group of equal calls in a row that begins with this one."""
    groups = (each for each in rows.groups("arguments") if _is_loop(each))
    return next((each for each in groups if each["first_ordinal"] == call["ordinal"]), None)


def repeats(rows: RunRows) -> Iterator[Repeated]:
    """Yield calls with equal arguments that are not a loop: not in a row, or with other results the second time."""
    listed = rows.own_loops()
    for group in rows.groups("arguments"):
        calls = whole(group, "calls") or 0
        if any(_is_of(group, loop) for loop in listed) or (_is_loop(group) and group["first_step"] is None):
            continue
        # A call that failed is made again: that is what the failure says.
        if calls < LEAST and (group["failed"] or whole(group, "results") == 1):
            continue
        first, last = rows.call(group["first_ordinal"]), rows.call(group["last_ordinal"])
        said: list[str | Quote] = [
            Quote(str(group["tool_name"])),
            f" was called {calls:,} times with equal arguments",
            *_arguments(first),
            steps_text(whole(group, "first_step"), whole(group, "last_step")),
            ", and not in a row" if not group["in_a_row"] else "",
        ]
        said += [*_first_and_last(group, first, last), "."]
        yield _said(rows, "repeat", said, group, [])


def _is_loop(group: Row) -> bool:
    return bool(group["in_a_row"]) and (whole(group, "calls") or 0) >= LEAST


def _is_of(group: Row, loop: Row) -> bool:
    """Return whether a group of calls holds those of a loop."""
    first, last = whole(group, "first_step"), whole(group, "last_step")
    begin, end = whole(loop, "first_step"), whole(loop, "last_step")
    if first is None or last is None or begin is None or end is None or group["tool_name"] != loop["sign"]:
        return False
    return first <= begin and end <= last


def _equal(rows: RunRows, tool: str, loop: Row, group: Row | None, basis: Basis | None) -> Repeated:
    times = whole(loop, "times" if basis is not None else "calls") or 0
    first = rows.call(group["first_ordinal"]) if group is not None else None
    said: list[str | Quote] = [
        Quote(tool),
        f" was called {times:,} times in a row with equal arguments",
        *_arguments(first),
        steps_text(whole(loop, "first_step"), whole(loop, "last_step")),
    ]
    if group is not None:
        said += _returned(group, first)
    said.append(".")
    place = whole(loop, "first_step")
    sentence, call, own = _said(rows, "loop", said, group, [basis] if basis is not None else [])
    return sentence, call, own if place is None else place


def _empty(rows: RunRows, group: Row, call: Row) -> Repeated:
    last = rows.call(group["last_ordinal"])
    said: list[str | Quote] = [
        Quote(str(group["tool_name"])),
        f" was called {group['calls']:,} times in a row, with {group['arguments']:,} different arguments",
        *(_between(call, last)),
        steps_text(whole(group, "first_step"), whole(group, "last_step")),
        ", and every call returned the same nothing: ",
        Quote(text_of(call, "result") or ""),
        ".",
    ]
    return _said(rows, "loop", said, group, [])


def _said(
    rows: RunRows, kind: str, said: list[str | Quote], group: Row | None, rests: list[Basis]
) -> Repeated:
    step = whole(group, "first_step") if group is not None else None
    ordinals = [] if group is None else dict.fromkeys([group["first_ordinal"], group["last_ordinal"]])
    for ordinal in ordinals:
        rests.append(Basis("tool_calls", {"run_id": rows.run_id, "ordinal": int(str(ordinal))}))
    asked_by = whole(group, "first_asked_by") if group is not None else None
    place = step if step is not None else float("inf") if asked_by is None else asked_by + 0.5
    call = rows.call(group["first_ordinal"]) if group is not None else None
    return Sentence(kind, said, rests, step, rows.run_id), call, place


def _arguments(call: Row | None) -> Iterator[str | Quote]:
    quote = None if call is None else quote_of(call, "arguments", "arguments_length")
    if quote is not None:
        yield " "
        yield quote


def _between(first: Row, last: Row | None) -> Iterator[str | Quote]:
    begin = quote_of(first, "arguments", "arguments_length")
    end = None if last is None else quote_of(last, "arguments", "arguments_length")
    if begin is not None and end is not None:
        yield from (" from ", begin, " to ", end)


def _returned(group: Row, first: Row | None) -> Iterator[str | Quote]:
    """Yield what the calls of a group returned."""
    unknown, results = whole(group, "results_unknown") or 0, whole(group, "results") or 0
    result = None if first is None else quote_of(first, "result", "result_length")
    if unknown == group["calls"]:
        yield "; what they returned is not on record"
    elif unknown:
        yield f"; what {unknown:,} of them returned is not on record"
    elif results == 1 and result is not None:
        yield ", and every call returned the same: "
        yield result
    elif results > 1:
        yield f"; there were {results:,} different results"


def _first_and_last(group: Row, first: Row | None, last: Row | None) -> Iterator[str | Quote]:
    if first is None or last is None or (whole(group, "results") or 0) < 2:
        yield from _returned(group, first)
        return
    begin, end = quote_of(first, "result", "result_length"), quote_of(last, "result", "result_length")
    if begin is None or end is None:
        return
    yield from ("; the first returned ", begin, ", the last ", end)
