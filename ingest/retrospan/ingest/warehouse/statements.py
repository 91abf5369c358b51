"""Pieces of statements for an embedded ClickHouse: parameter values, settings, error codes. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from retrospan.schemas.errors import SqlError
from retrospan.schemas.store import Escaped, Settings

MEMORY_LIMIT_EXCEEDED = 241

Parameter = str | int | float | bool | Sequence[str] | Sequence[int]

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"})
_SETTING_NAME = re.compile(r"[a-z][a-z0-9_]*")
_CODE = re.compile(r"Code: (\d+)")


def parameter_text(value: Parameter) -> str:
    """The text by which a `{name:Type}` parameter gets this value.

    Scalars are read as one tab-separated field, arrays as an array literal.
    """
    if isinstance(value, Escaped):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value.translate(_ESCAPES)
    if isinstance(value, int | float):
        return repr(value)
    return "[" + ",".join(_element(element) for element in value) + "]"


def _element(element: str | int) -> str:
    if isinstance(element, str):
        return "'" + element.translate(_ESCAPES).replace("'", "\\'") + "'"
    return repr(element)


def settings_list(settings: Settings) -> str:
    """`name = value, …`. Names come from our own code; a value that is text is quoted."""
    parts: list[str] = []
    for name, value in settings.items():
        if not _SETTING_NAME.fullmatch(name):
            raise SqlError(f"{name!r} is not a name of a setting.")
        if isinstance(value, str):
            quoted = value.replace("\\", "\\\\").replace("'", "\\'")
            parts.append(f"{name} = '{quoted}'")
        else:
            parts.append(f"{name} = {value:d}")
    return ", ".join(parts)


def error_code(message: str) -> int | None:
    """ClickHouse's error number, from its message."""
    found = _CODE.search(message)
    return int(found.group(1)) if found else None
