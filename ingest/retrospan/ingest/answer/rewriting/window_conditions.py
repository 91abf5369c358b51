"""Conditions on the time of spans, narrowed to the traces that may have spans in that time.

The view `spans` joins the results of interpretation, and the engine joins all of them, however short the window: a day
of a million spans took 700 ms of processor time. If the start of the window does not depend on any row, the statement is
made to name the traces of the window as well, and the engine joins only these: 120 ms. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.answer.guard.allowlist import DATABASE, word_set
from retrospan.ingest.answer.guard.lexer import Token
from retrospan.ingest.answer.rewriting.first_rows import spaced
from retrospan.ingest.answer.rewriting.index_conditions import AFTER

#: By column of the view, what it is in `raw_spans`.
COLUMNS = {
    "ingested_at": "arrived_at",
    "started_at": "fromUnixTimestamp64Nano(toInt64(least(started_ns, 9223372036854775807)), 'UTC')",
}
#: Each evaluation of these may give another time.
_CLOCKS = word_set("now now64 today yesterday")
#: Of what a time is made that no row decides, besides numbers, strings and parameters: these of their arguments,
_FUNCTIONS = _CLOCKS | word_set(
    "todate todatetime todatetime64 parsedatetimebesteffort parsedatetime64besteffort fromunixtimestamp "
    "fromunixtimestamp64second fromunixtimestamp64milli fromunixtimestamp64micro fromunixtimestamp64nano "
    "tointervalsecond tointervalminute tointervalhour tointervalday tointervalweek tointervalmonth "
    "tostartofminute tostartofhour tostartofday subtractminutes subtracthours subtractdays"
)
#: and these of the number between INTERVAL and them.
_UNITS = word_set("second minute hour day week month")


def traces_within(kept: Sequence[Token], at: int) -> tuple[int, str] | None:
    """Return how many tokens a window has that begins here, and a condition on its traces; None for no window.

    A window has a beginning, and after AND perhaps an end.
    """
    column = kept[at].value if kept[at].kind in ("word", "name") else ""
    if column not in COLUMNS:
        return None
    begin = _bound(kept, at + 1, ">")
    if begin is None:
        return None
    size, bounds = 1 + len(begin), [spaced(begin)]
    if _depends_on_clock(begin):
        # The engine may look at its clock later here than there.
        bounds = [f"{bounds[0]} - INTERVAL 1 HOUR"]
    elif not kept[at - 1].is_word("not"):
        # NOT holds for the first condition alone.
        end = _end(kept, at + size, column)
        if end is not None:
            size += 2 + len(end)
            bounds.append(spaced(end))
    told = " AND ".join(f"{COLUMNS[column]} {bound}" for bound in bounds)
    return size, f"trace_id IN (SELECT trace_id FROM {DATABASE}.raw_spans WHERE {told})"


def _end(kept: Sequence[Token], at: int, column: str) -> Sequence[Token] | None:
    """Return the end of a window in the same column, which no clock decides."""
    if at + 1 >= len(kept) or not kept[at].is_word("and") or kept[at + 1].value != column:
        return None
    end = _bound(kept, at + 2, "<")
    return None if end is None or _depends_on_clock(end) else end


def _bound(kept: Sequence[Token], at: int, mark: str) -> Sequence[Token] | None:
    """Return a comparison, or the same with `=`, and the time that follows; None where that may depend on a row."""
    if at >= len(kept) or not kept[at].is_mark(mark):
        return None
    place = first = at + 2 if at + 1 < len(kept) and kept[at + 1].is_mark("=") else at + 1
    depth = 0
    while place < len(kept):
        token = kept[place]
        if depth == 0 and (token.is_mark(")") or token.is_word(*AFTER)):
            break
        if token.is_mark("{"):
            close = next((more for more in range(place, len(kept)) if kept[more].is_mark("}")), len(kept))
            place = close + 1
            continue
        if not (_is_of_a_time(kept, place) or (depth and token.is_mark(","))):
            return None
        depth += token.is_mark("(") - token.is_mark(")")
        place += 1
    return kept[at:place] if first < place <= len(kept) and depth == 0 else None


def _is_of_a_time(kept: Sequence[Token], place: int) -> bool:
    token = kept[place]
    if token.is_word(*_FUNCTIONS):
        return place + 1 < len(kept) and kept[place + 1].is_mark("(")
    if token.is_word(*_UNITS):
        return kept[place - 1].kind in ("number", "string") and kept[place - 2].is_word("interval")
    if token.is_word("interval"):
        return place + 1 < len(kept) and kept[place + 1].kind in ("number", "string")
    return token.kind in ("string", "number") or any(token.is_mark(mark) for mark in "()+-")


def _depends_on_clock(kept: Sequence[Token]) -> bool:
    return any(token.is_word(*_CLOCKS) for token in kept)
