"""The clauses FORMAT and SETTINGS of a statement: taken off its end, judged wherever they stand.

ClickHouse reads `SETTINGS name` as `name = 1` and takes the clause in every subquery, so each word `settings` that
could begin one is read as one, name by name and value by value. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from retrospan.ingest.answer.guard.allowlist import IN_SUBQUERIES, OF_WRITING, settable, word_set
from retrospan.ingest.answer.guard.lexer import Token, where
from retrospan.schemas.errors import SqlError

UNKNOWN_SETTING = 115
#: After a column of the name `settings`; none of these is a setting.
_AFTER_COLUMN = word_set(
    "from as where prewhere group order having union except intersect and or xor is in not like ilike between asc "
    "desc then else end when div mod using on join"
)
#: FORMAT a SETTINGS b FORMAT c SETTINGS d. Without a bound a long row of them would be read over and over.
_MOST_CLAUSES = 4
#: A time zone with a slash in front or a colon is a path to the engine.
_VALUE = re.compile(r"(?![/.])(?!.*\.\.)[^\x00-\x1f\x7f:\\]*|[,;|\t:]")


@dataclass(frozen=True, slots=True)
class Tail:
    """What stands at the end of a statement and is not executed with it. `position` is where it begins."""

    position: int
    output_format: str | None = None
    settings: dict[str, str | int] = field(default_factory=dict[str, str | int])


def split_tail(found: Sequence[Token], text: str) -> Tail:
    """Find FORMAT and SETTINGS at the end; they come in either order.

    Raises:
        SqlError: a setting, there or in a subquery, is not open to readers.
    """
    begin = next((at for at in range(len(found)) if _is_tail(found, at)), len(found))
    output_format: str | None = None
    settings: dict[str, str | int] = {}
    at = begin
    while at < len(found):
        if _is_format(found, at):
            output_format, at = found[at + 1].value, at + 2
        else:
            read, at = _settings(found, at, text)
            for name, value in read.items():
                if not settable(name.folded):
                    raise _refusal(f"setting {name.text} is not open to readers", name, text)
                check_value(name.text, str(value))
                if name.folded not in OF_WRITING:
                    settings[name.folded] = value
    for place in range(begin):
        if _begins_settings(found, place):
            read, _ = _settings(found, place, text)
            for name, value in read.items():
                if name.folded not in IN_SUBQUERIES:
                    raise _refusal(f"SETTINGS belong at the end of the statement: {name.text}", name, text)
                check_value(name.text, str(value))
    return Tail(found[begin].position if begin < len(found) else len(text), output_format, settings)


def check_value(name: str, value: str) -> None:
    """Raise SqlError unless the value of a setting is plain text: no path, no control character."""
    if len(value) > 200 or not _VALUE.fullmatch(value):
        raise SqlError(f"{value[:60]!r} is not a valid value for {name}.", code=UNKNOWN_SETTING)


def _is_tail(found: Sequence[Token], begin: int) -> bool:
    """Return whether nothing but FORMAT and SETTINGS follows from here to the end."""
    if not found[begin].is_word("format", "settings"):
        return False
    at = begin
    for _ in range(_MOST_CLAUSES):
        if at < len(found) and _is_format(found, at):
            at += 2
        elif at < len(found) and _begins_settings(found, at):
            at = _end_of_settings(found, at)
    return at == len(found)


def _is_format(found: Sequence[Token], at: int) -> bool:
    named = at > 0 and at + 1 < len(found) and found[at + 1].kind in ("word", "name")
    if not (named and found[at].is_word("format")):
        return False
    return at + 2 == len(found) or found[at + 2].is_word("settings", "format")


def _begins_settings(found: Sequence[Token], at: int) -> bool:
    """Return whether this word is SETTINGS of a clause, or cannot be told from one."""
    if not found[at].is_word("settings") or at == 0 or at + 1 == len(found):
        return False
    before, after = found[at - 1], found[at + 1]
    qualified = before.is_mark(".") and at > 1 and found[at - 2].kind in ("word", "name")
    shown = before.is_word("show", "changed") and found[0].is_word("show")
    if qualified or shown or after.is_word(*_AFTER_COLUMN):
        return False
    return after.kind in ("word", "name", "string", "number") or after.is_mark("{")


def _end_of_settings(found: Sequence[Token], begin: int) -> int:
    """Return where the list of `name` and `name = value` behind SETTINGS ends; `begin` itself never."""
    at = begin + 1
    while at < len(found) and found[at].kind in ("word", "name"):
        at += 1
        if at + 1 < len(found) and found[at].is_mark("="):
            at += 2
        if at >= len(found) or not found[at].is_mark(","):
            return at
        at += 1
    return at


def _settings(found: Sequence[Token], begin: int, text: str) -> tuple[dict[Token, str | int], int]:
    """Return the names with their values, and where the clause ends.

    Raises:
        SqlError: it is not a list of plain names, each with one plain value or none.
    """
    read: dict[Token, str | int] = {}
    at = begin + 1
    while True:
        name = found[at] if at < len(found) else found[-1]
        if at >= len(found) or name.kind not in ("word", "name"):
            raise _unreadable(name, text)
        at, given = at + 1, 1
        value: str | int = given
        if at < len(found) and found[at].is_mark("="):
            told = found[at + 1] if at + 1 < len(found) else found[at]
            if told.kind not in ("word", "string", "number"):
                raise _unreadable(told, text)
            if "\\" in told.value:
                raise _refusal(f"the value of {name.text} may not contain a backslash", told, text)
            value = int(told.text) if told.text.isdecimal() else told.value
            at += 2
        read[name] = value
        if at >= len(found) or not found[at].is_mark(","):
            break
        at += 1
    if at < len(found) and not (found[at].is_mark(")") or found[at].kind == "word"):
        raise _unreadable(found[at], text)
    return read, at


def _unreadable(token: Token, text: str) -> SqlError:
    rule = "SETTINGS takes a list of `name = value`; a column of this name is written `settings` in backticks"
    return _refusal(rule, token, text)


def _refusal(rule: str, token: Token, text: str) -> SqlError:
    return SqlError(f"{rule} ({where(text, token.position)}).", code=UNKNOWN_SETTING)
