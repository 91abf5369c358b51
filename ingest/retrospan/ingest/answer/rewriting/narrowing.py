"""Rewrites statements over the views `spans`, `messages` and `texts` so that the engine reads less for the same rows.

It does five things that a view cannot do by itself. A list of whole spans is read by their keys (`first_rows`). A
condition on one attribute, run or span also names the traces that may fulfil it, which an index finds; a condition on a
text names the runs; a window of time, if nothing is narrower, names the traces of that time. And a statement without any
column that comes from interpretation needs no interpreted rows. Whatever is not certain to give the same rows is left as
it is: this module reads tokens, not meanings.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import pairwise

from retrospan.ingest.answer.guard.allowlist import DATABASE, word_set
from retrospan.ingest.answer.guard.lexer import Token, tokens, written
from retrospan.ingest.answer.rewriting.first_rows import keys_first
from retrospan.ingest.answer.rewriting.index_conditions import AFTER, runs_of_message, runs_of_text, traces_of
from retrospan.ingest.answer.rewriting.lean_views import array_joins, in_selects
from retrospan.ingest.answer.rewriting.window_conditions import COLUMNS, traces_within
from retrospan.schemas.errors import SqlError

_VIEW, _AS_SENT, _MESSAGES, _TEXTS = "spans", "spans_as_sent", "messages", "texts"
#: Columns of `spans` that interpretation gives, or that show what it rendered.
_INTERPRETED = word_set("run_id operation dialect attributes resource")
#: What brings columns into a statement that it does not name, or another table under the view's name.
_UNNAMED = word_set("columns apply except replace natural identifier with")
#: What makes it unsure which table a column belongs to. ARRAY JOIN is one of them by its second word: the first is a type's
#: name as well.
_SEVERAL = word_set("join with union intersect except global using between")
#: What may stand before a condition.
_BEFORE = word_set("where prewhere and or not")
#: What begins a part of a statement. Conditions are joined in one part alone, where rows are chosen: elsewhere they
#: give columns their names, or may not name a trace.
_PARTS = word_set("select from where prewhere group having order limit offset settings window qualify")
#: After what a column's name is not an alias.
_NOT_OPERANDS = word_set(
    "select distinct all where prewhere having qualify by and or not xor on in like ilike is then when else case end "
    "between div mod partition using interval over as"
)
#: By what columns conditions are joined, or what they are about.
_OF_SPANS = word_set("trace_id span_id run_id attributes")
_KEYS = word_set("trace_id span_id run_id")
_OF_WINDOWS = word_set("trace_id") | COLUMNS.keys()
_OF_TEXTS = {_MESSAGES: word_set("run_id content"), _TEXTS: word_set("run_id text")}


def narrowed(sql: str, parameters: Mapping[str, str] | None = None) -> str:
    """Return the statement as it reads less, or as it is. `sql` is one that the guard let through."""
    if not depends_on_values(sql):
        return sql
    found = tokens(sql)
    words = [token for token in found if token.kind != "blank"]
    if not words or not words[0].is_word("select"):
        return sql
    try:
        if (of_keys := keys_first(sql)) is not None:
            before, keys, after = of_keys
            return written(tokens(f"{before}{narrowed(keys, parameters)}{after}"))
        return written(_by_index(_as_sent(found), parameters or {}))
    except SqlError:
        return sql  # tokens that touch: the statement is good as it is


def depends_on_values(sql: str) -> bool:
    """Return whether how the statement is narrowed may depend on the values of its parameters."""
    return any(view in sql for view in (_VIEW, _MESSAGES, _TEXTS))


def _as_sent(found: Sequence[Token]) -> list[Token]:
    """Put the view without interpretation in place of `spans` where no column of it is named."""
    words = [place for place, token in enumerate(found) if token.kind != "blank"]
    for at, place in enumerate(words):
        token = found[place]
        if token.folded in _INTERPRETED or token.is_word(*_UNNAMED):
            return list(found)
        if token.is_mark("*") and not _is_counted(found, words, at):
            return list(found)
        if token.value == _VIEW and at > 0 and _is_inside_a_name(found, words, at):
            return list(found)
    made: list[Token] = []
    end = 0
    of_selects, arrays = in_selects([found[place] for place in words]), array_joins(found, words)
    for at, place in enumerate(words):
        if of_selects[at] and place not in arrays and _is_view(found, words, at, (_VIEW,)):
            after = found[words[at + 1]] if at + 1 < len(words) else None
            if after is not None and (after.is_mark(".") or after.is_mark("(")):
                return list(found)
            named = after is not None and (after.is_word("as") or after.kind == "name")
            alias = "" if named or (after is not None and _is_alias(after)) else f" AS {_VIEW}"
            made += [*found[end:place], *tokens(f"{_AS_SENT}{alias}")]
            end = place + 1
    return [*made, *found[end:]]


def _is_counted(found: Sequence[Token], words: Sequence[int], at: int) -> bool:
    """Return whether an asterisk means no column: that of `count(*)`."""
    around = [found[place] for place in words[max(at - 2, 0) : at + 2]]
    return (
        len(around) == 4 and around[0].is_word("count") and around[1].is_mark("(") and around[3].is_mark(")")
    )


def _is_inside_a_name(found: Sequence[Token], words: Sequence[int], at: int) -> bool:
    """Return whether points surround it: a column named with its database."""
    return found[words[at - 1]].is_mark(".") and at + 1 < len(words) and found[words[at + 1]].is_mark(".")


def _is_alias(token: Token) -> bool:
    """Return whether a word after a table is a name for it. What may be either is taken for one: nothing is lost."""
    return token.kind == "word" and token.folded not in AFTER | word_set(
        "where prewhere final sample join inner left right full cross any all semi anti asof on array global except "
        "intersect"
    )


def _is_view(found: Sequence[Token], words: Sequence[int], at: int, names: Container[str]) -> bool:
    """Return whether this is one of these views in a FROM or a JOIN."""
    token = found[words[at]]
    if token.kind not in ("word", "name") or token.value not in names or at == 0:
        return False
    before = found[words[at - 1]]
    if before.is_mark(".") and at > 2 and found[words[at - 2]].value == DATABASE:
        before = found[words[at - 3]]
    return before.is_word("from", "join")


def _by_index(found: Sequence[Token], parameters: Mapping[str, str]) -> list[Token]:
    """Join conditions on one attribute, run, span or text with the traces or runs that may fulfil them."""
    words = [place for place, token in enumerate(found) if token.kind != "blank"]
    kept = [found[place] for place in words]
    if any(sum(token.is_word(part) for token in kept) != 1 for part in ("select", "from")):
        return list(found)
    if any(token.is_word(*_SEVERAL) for token in kept):
        return list(found)
    named = (_VIEW, _AS_SENT, _MESSAGES, _TEXTS)
    views = [at for at in range(len(words)) if _is_view(found, words, at, named)]
    if len(views) != 1 or _goes_on(kept, views[0]):
        return list(found)
    view = kept[views[0]].value
    if renames(kept, _OF_TEXTS.get(view, _OF_SPANS)):
        return list(found)
    added = {_MESSAGES: runs_of_message, _TEXTS: runs_of_text}.get(view, traces_of)
    joined = _joined(found, words, lambda at: added(kept, at, parameters))
    if (
        view == _VIEW
        and len(joined) == len(found)
        and not _is_narrow(kept)
        and not renames(kept, _OF_WINDOWS)
    ):
        joined = _joined(found, words, lambda at: traces_within(kept, at))
    return joined


def _joined(
    found: Sequence[Token], words: Sequence[int], added: Callable[[int], tuple[int, str] | None]
) -> list[Token]:
    """Join the conditions that choose rows, where they begin, with those that are `added` there."""
    kept = [found[place] for place in words]
    pieces: list[Token] = []
    end = 0
    part = ""
    for at in range(1, len(kept)):
        if kept[at - 1].is_mark("-") and kept[at].is_mark(">"):
            break  # what stands in a function of its own is not joined, nor what follows
        if kept[at].is_word(*_PARTS):
            follows = part in ("from", "prewhere") or not kept[at].is_word("where", "prewhere")
            part = kept[at].folded if follows else ""
        chooses = part in ("where", "prewhere") and words[at] >= end
        condition = added(at) if chooses and _may_begin(kept, at) else None
        if condition is None:
            continue
        size, also = condition
        begin, last = words[at], words[at + size - 1]
        pieces += [*found[end:begin], *tokens("(")]
        pieces += [*found[begin : last + 1], *tokens(f" AND {also})")]
        end = last + 1
    return [*pieces, *found[end:]]


def _is_narrow(kept: Sequence[Token]) -> bool:
    """Return whether something is said of traces, spans or runs: by their keys fewer are read than by their time."""
    begin = next((at for at, token in enumerate(kept) if token.is_word("where", "prewhere")), len(kept))
    return any(
        token.value in _KEYS and (after.is_word("in", "like") or any(after.is_mark(mark) for mark in "=,)"))
        for token, after in pairwise(kept[begin:])
    )


def _goes_on(kept: Sequence[Token], view: int) -> bool:
    """Return whether another table follows the view, after a comma."""
    for token in kept[view + 1 :]:
        if token.is_mark(","):
            return True
        if not (token.is_word("as", "final") or token.kind == "name" or _is_alias(token)):
            return False
    return False


def renames(kept: Sequence[Token], used: Container[str]) -> bool:
    """Return whether a column that conditions are joined by might be something else here: an alias, or a variable."""
    for at, (token, after) in enumerate(pairwise(kept)):
        if token.is_mark("-") and after.is_mark(">"):
            variable = kept[at - 1]
            if variable.kind not in ("word", "name") or variable.folded in used:
                return True
            continue
        if after.folded not in used or token.is_mark("."):
            continue
        ends = token.kind in ("string", "number", "name") or any(token.is_mark(mark) for mark in ")]}*")
        if token.is_word("as") or ends or (token.kind == "word" and token.folded not in _NOT_OPERANDS):
            return True
    return False


def _may_begin(kept: Sequence[Token], at: int) -> bool:
    """Return whether a condition may begin here."""
    return kept[at - 1].is_word(*_BEFORE) or kept[at - 1].is_mark("(")
