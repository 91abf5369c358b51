"""The engine's error messages with the machinery taken out: position, line with caret, first alternatives, code."""

from __future__ import annotations

import re

from retrospan.schemas.errors import SqlError

_CODE = re.compile(r"\bCode: (\d+)\.\s*")
_TAIL = re.compile(r"\s*\((?:version [^()]*(?:\([^()]*\))?[^()]*|[A-Z][A-Z_0-9]+)\)\s*\.?\s*$")
_EXPECTED = re.compile(r"\s*Expected one of: (.*)$", re.DOTALL)
_SCOPE = re.compile(r"\.?:?\s*In scope .*$", re.DOTALL)
_POSITION = re.compile(r"failed at position (\d+)(?: \((.*?)\))?(?: \(line (\d+), col (\d+)\))?:", re.DOTALL)
_SUGGESTION = re.compile(r"Maybe you meant:?\s*\[([^\]]*)\]")
_STATEMENTS = ["SELECT", "WITH", "SHOW", "DESCRIBE", "EXPLAIN", "EXISTS"]


def sql_error(text: str, sql: str) -> SqlError:
    """Return the error to raise for the engine's text about the statement."""
    code = _CODE.search(text)
    number = int(code[1]) if code else None
    message = _CODE.sub("", text.strip(), count=1).replace("DB::Exception: ", "").strip()
    message = message.removeprefix("DB::Exception:").strip()
    while True:
        shorter = _TAIL.sub("", message)
        if shorter == message:
            break
        message = shorter
    syntax = _POSITION.search(message)
    if "yntax error" in message and syntax is not None:
        message = _syntax(message, int(syntax[1]), sql)
    else:
        message = _SCOPE.sub("", message).rstrip(". ")
        message = _SUGGESTION.sub(lambda found: f"Did you mean {_either(found[1])}?", message)
    suffix = f" (code {number})" if number is not None else ""
    first, *rest = message.split("\n")
    return SqlError("\n".join([first + suffix, *rest]), code=number)


def _either(names: str) -> str:
    return " or ".join(name.strip() for name in names.split(",")[:3])


def _syntax(message: str, position: int, sql: str) -> str:
    """`line 1 column 8: 'FORM' is not expected here` and the line with a caret under the place."""
    raw = sql.encode(errors="surrogateescape")
    place = min(max(position - 1, 0), len(raw))
    before = raw[:place].decode(errors="replace")
    line_number = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1)
    line = sql.split("\n")[line_number - 1] if sql else ""
    word = re.match(r"\w+|\S", line[column:])
    what = f"'{word[0]}' is not expected here" if word else "the statement ends too early"
    if word and place == len(raw) - len(raw.lstrip()) and word[0].upper() not in _STATEMENTS:
        what = f"'{word[0]}' is not a statement"
        what += _meant(word[0])
    expected = _EXPECTED.search(message)
    if expected:
        names = [name.strip(" .") for name in expected[1].split(",")]
        what += f"; expected {', '.join(names[:3])}{', …' if len(names) > 3 else ''}"
    start = max(0, column - 60)
    excerpt = line[start : start + 100].expandtabs(1)
    return f"SQL, line {line_number} column {column + 1}: {what}\n{excerpt}\n{' ' * (column - start)}^"


def _meant(word: str) -> str:
    from retrospan.ingest.cli.terminal.text import nearest

    found = nearest(word, _STATEMENTS)
    return f"; did you mean {found}?" if found else ""
