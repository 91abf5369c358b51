"""Values as ClickHouse reads them: as the text of a `{name:Type}` parameter, and in a statement. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias

from retrospan.schemas.store import Escaped

Value: TypeAlias = "str | bytes | int | float | bool | datetime | Sequence[Value] | None"

_LETTERS = {"\\": "\\", "'": "'", "\t": "t", "\n": "n", "\r": "r", "\0": "0", "\b": "b", "\f": "f"}
#: Surrogate escapes stand for the bytes of text that is not UTF-8.
_BYTES = {chr(0xDC00 + byte): f"x{byte:02x}" for byte in range(0x80, 0x100)}
_ESCAPES = {character: f"\\{letter}" for character, letter in (_LETTERS | _BYTES).items()}
#: A quote ends nothing in a field, and escaped it would be a part of an array, map or tuple in it.
_IN_FIELDS = _ESCAPES | {"'": "'"}
_ESCAPED = re.compile(f"[{re.escape(''.join(_ESCAPES))}]")


def parameter_text(value: Value) -> str:
    """Write a value as a parameter is sent: a scalar as one tab-separated field, an array as a literal.

    Text may hold surrogate escapes: they are the bytes that they stand for.
    """
    if isinstance(value, Escaped):
        return str(value)
    if value is None:
        return "\\N"
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        return _ESCAPED.sub(lambda found: _IN_FIELDS[found[0]], value)
    found = literal(value)
    return found[1:-1] if found.startswith("'") else found


def literal(value: Value) -> str:
    """Write a value as a literal of SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime):
        value = value.isoformat(sep=" ")
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        return "'" + _ESCAPED.sub(lambda found: _ESCAPES[found[0]], value) + "'"
    return "[" + ", ".join(map(literal, value)) + "]"
