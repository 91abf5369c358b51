"""Reading JSON sent as text, without failing: for invalid text the reason is returned."""

from __future__ import annotations

import base64
import json
import math
import re
from dataclasses import dataclass
from json.scanner import make_scanner

from retrospan.schemas.json_encoding import json_encoder, quoted

#: Deeper values are left as text: they cannot be meant as messages, arguments or state.
MAX_DEPTH = 200
#: What stands in the place of deeper values that came as OTLP values instead of text.
TOO_DEEP = f"(nested deeper than {MAX_DEPTH}: left out here, kept in the log)"
#: A name that a path has as it is, and the most that it has of others.
_PLAIN_NAME, _LONGEST_NAME = re.compile(r"[A-Za-z_][\w-]{0,79}"), 80
_ENCODE = json_encoder(sort_keys=False)
_SCAN = make_scanner(json.JSONDecoder())  # type: ignore[arg-type]  # what is written for it is half of it


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Text that was meant to be JSON and is not."""

    reason: str


def read_json(text: str) -> object:
    """Return the JSON value of the text, or Unreadable with the reason. NaN and the infinities are read as floats."""
    try:
        value = _scanned(text)
    except RecursionError:
        return Unreadable("nested too deeply")
    except ValueError as error:
        return Unreadable(f"not JSON: {error}")
    # A text with fewer brackets than that cannot nest deeper: most texts need no walk.
    if (
        len(text) > 2 * MAX_DEPTH
        and text.count("{") + text.count("[") > MAX_DEPTH
        and _depth_exceeds(value, MAX_DEPTH)
    ):
        return Unreadable("nested too deeply")
    return value


def _scanned(text: str) -> object:
    """Return the value of a JSON text, which may have white space around it."""
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        return json.loads(text)  # says what is wrong, and where
    return value if end == len(text) else json.loads(text)


def path_into(path: str, part: str | int) -> str:
    """Return the way to a member of what a path leads to: `items[2].email`; a name with other signs stands in quotes."""
    if isinstance(part, int):
        return f"{path}[{part}]"
    if not _PLAIN_NAME.fullmatch(part):
        return f'{path}["{part[:_LONGEST_NAME]}"]'
    return f"{path}.{part}" if path else part


def read_value(value: object) -> object:
    """Return the list or object that text holds, else the value as it is.

    Only containers are read: the text "42" may be a number or a string, and stays what the producer sent.
    """
    if isinstance(value, str) and value[:1] in ("{", "["):
        read = read_json(value)
        if not isinstance(read, Unreadable):
            return read
    return value


def write_json(value: object) -> str:
    """Return JSON with keys in the order they came, every character as itself; NaN and the infinities become strings.

    Text that holds half a surrogate pair cannot be stored as itself and is escaped.
    """
    try:
        text = quoted(value) if type(value) is str else _ENCODE(value)
    except ValueError:
        text = _ENCODE(_finite(value))
    if text.isascii():
        return text
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(json.loads(text), separators=(",", ":"))
    return text


def bounded(value: object, depth: int = MAX_DEPTH) -> object:
    """Return the value with what lies deeper than that replaced by a text that says so, and bytes as base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: bounded(item, depth - 1) for key, item in value.items()} if depth else TOO_DEEP
    if isinstance(value, list):
        return [bounded(item, depth - 1) for item in value] if depth else TOO_DEEP
    return value


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value


def _depth_exceeds(value: object, limit: int) -> bool:
    if limit < 0:
        return True
    if isinstance(value, dict):
        return any(_depth_exceeds(item, limit - 1) for item in value.values())
    if isinstance(value, list):
        return any(_depth_exceeds(item, limit - 1) for item in value)
    return False
