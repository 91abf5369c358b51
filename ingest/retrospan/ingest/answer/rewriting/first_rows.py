"""A list of whole spans, `SELECT * FROM spans ORDER BY started_at DESC LIMIT 20`, read by the keys of its rows.

The engine reads every column of every span that might come first, though it sorts by one: 2.7 s of processor time in a
million spans. The port finds the keys of the rows first, by the columns that decide, and reads these rows alone: 0.2 s.
Among rows that tie for the last place others may be chosen, as in any statement whose ORDER BY leaves ties open.

Only plain columns of one view and a LIMIT in numbers are understood; any other statement stays as it is. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from retrospan.ingest.answer.guard.allowlist import DATABASE, word_set
from retrospan.ingest.answer.guard.lexer import Token, tokens
from retrospan.queries import catalogue

_VIEW = "spans"
_KEY = "tenant, trace_id, span_id"
#: What is large in a span. Without any of it the engine has nothing to spare.
PAYLOAD = word_set("attributes resource events links")
#: What makes something else of the rows or of a name.
_REFUSED = word_set(
    "as select with union intersect except join array group having qualify window over settings distinct prewhere final "
    "sample using by top fill ties format into columns apply replace identifier interpolate"
)
_CLAUSES = ("where", "order", "limit")
#: With more the keys are no longer few.
_MOST_ROWS = 1_000


def keys_first(sql: str) -> tuple[str, str, str] | None:
    """Return what stands before the SELECT of the keys, that SELECT, and what follows; None if the statement stays.

    `sql` is one that the guard let through.
    """
    found = parts(sql)
    if found is None:
        return None
    columns, where, order, limit = found
    most = most_rows(limit)
    if not are_columns(columns) or not is_order(order) or most is None:
        return None
    view = f"{DATABASE}.{_VIEW}"
    condition = f" WHERE {spaced(where)}" if where else ""
    sorted_by = f" ORDER BY {spaced(order)}" if order else ""
    keys = f"SELECT {_KEY} FROM {view}{condition}{sorted_by} LIMIT {most}"
    return (
        f"SELECT {spaced(columns)} FROM {view} WHERE ({_KEY}) IN (",
        keys,
        f"){sorted_by} LIMIT {spaced(limit)}",
    )


def parts(sql: str, view: str = _VIEW) -> tuple[Sequence[Token], ...] | None:
    """Return the tokens of SELECT, WHERE, ORDER BY and LIMIT; None unless they and the view are all there is."""
    if view not in sql:
        return None
    kept = [token for token in tokens(sql) if token.kind != "blank"]
    source = next((place for place, token in enumerate(kept) if token.is_word("from")), 0)
    if not source or not kept[0].is_word("select"):
        return None
    after = source + 1
    if _is_marked(kept[after : after + 2], DATABASE, "."):
        after += 2
    if not _is_marked(kept[after : after + 1], view):
        return None
    after += 1
    found = {name: list[Token]() for name in _CLAUSES}
    part, depth = "", 0
    for token in kept[after:]:
        depth += token.is_mark("(") - token.is_mark(")")
        if depth == 0 and token.is_word(*_CLAUSES):
            if part and _CLAUSES.index(token.folded) <= _CLAUSES.index(part):
                return None
            part = token.folded
            continue
        if not part or token.is_mark(";"):
            return None
        found[part].append(token)
    order = found["order"]
    if order:
        if not order.pop(0).is_word("by"):
            return None
    elif part == "order":
        return None
    columns = kept[1:source]
    if any(token.is_word(*_REFUSED) for token in (*columns, *found["where"], *order, *found["limit"])):
        return None
    return columns, found["where"], order, found["limit"]


def _is_marked(kept: Sequence[Token], name: str, mark: str = "") -> bool:
    named = bool(kept) and kept[0].kind in ("word", "name") and kept[0].value == name
    return named and (not mark or (len(kept) == 2 and kept[1].is_mark(mark)))


def are_columns(kept: Sequence[Token], view: str = _VIEW, payload: frozenset[str] = PAYLOAD) -> bool:
    """Return whether these are columns and nothing but columns, one of them large, or all of them."""
    named = kept[::2]
    if len(kept) % 2 == 0 or not all(token.is_mark(",") for token in kept[1::2]):
        return False
    if len(named) == 1 and named[0].is_mark("*"):
        return True
    return all(_is_column(token, view) for token in named) and any(token.value in payload for token in named)


def is_order(kept: Sequence[Token], view: str = _VIEW) -> bool:
    """Return whether these are columns, each with its direction or without; none is one too."""
    expects = True
    for place, token in enumerate(kept):
        if expects:
            if not _is_column(token, view):
                return False
            expects = False
        elif token.is_mark(","):
            expects = True
        elif not (token.is_word("asc", "desc") and _is_column(kept[place - 1], view)):
            return False
    return not kept or not expects


def _is_column(token: Token, view: str) -> bool:
    return token.kind in ("word", "name") and token.value in _columns(view)


@cache
def _columns(view: str) -> frozenset[str]:
    return frozenset(column.name for column in catalogue.load(view).columns)


def most_rows(limit: Sequence[Token]) -> int | None:
    """Return how many rows are sorted out: those shown and those skipped; None when that is not told in numbers."""
    numbers = limit[::2]
    if len(limit) not in (1, 3) or not all(token.text.isdecimal() for token in numbers):
        return None
    if len(limit) == 3 and not limit[1].is_word("offset"):
        return None
    most = sum(int(token.text) for token in numbers)
    return most if most <= _MOST_ROWS else None


def spaced(kept: Sequence[Token]) -> str:
    """Return the tokens with a blank where there was one: `!=` is two of them."""
    text = ""
    for before, token in zip([None, *kept], kept, strict=False):
        touches = before is None or before.position + len(before.text) == token.position
        text += token.text if touches else f" {token.text}"
    return text
