"""JSON values: as objects in `--json`, in few words on a screen.

JSON columns of the views are text; `JSON_COLUMNS` names those that `--json` prints as what they hold.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

from retrospan.ingest.cli.terminal.moments import Moment
from retrospan.ingest.visible_text import is_hidden

JSON_COLUMNS = frozenset(
    {
        "arguments", "content", "events", "input_messages", "links", "new_value", "old_value", "options", "output_messages",
        "parameters", "result", "state_after", "state_before", "system_instructions", "tool_definitions", "value",
        "value_a", "value_b",
    }
)  # fmt: skip
#: A terminal obeys some characters beyond those JSON escapes; inside a document they only stand in strings.
_UNESCAPED = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202f\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def parse(text: object) -> object:
    """Return what the JSON text holds; text that is not JSON is itself. Numbers too large for a double stay text."""
    if not isinstance(text, str):
        return text
    try:
        parsed: object = json.loads(text, parse_float=_number, parse_constant=str)
    except (ValueError, RecursionError):
        return text
    return parsed


def _number(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def dump(value: object) -> str:
    """Compact JSON on one line that no terminal obeys: what could steer it is escaped."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return '"nested too deeply to print"'
    return _UNESCAPED.sub(lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def is_escaped(text: str) -> bool:
    """Return whether no character of the dumped text could steer a terminal."""
    return not any(is_hidden(character) for character in text)


def json_line(row: Mapping[str, object], json_columns: frozenset[str] = JSON_COLUMNS) -> str:
    """Return a row as one JSON object: times RFC 3339 in UTC, JSON columns as what they hold, unknown null."""
    return dump({name: _plain(value, name in json_columns) for name, value in row.items()})


def _plain(value: object, is_json: bool) -> object:
    if isinstance(value, Moment):
        return value.rfc3339()
    if is_json:
        return parse(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def brief(value: object) -> str:
    """Return the value in one line: text as it is, everything else as compact JSON."""
    return value if isinstance(value, str) else dump(value)


def brief_json(text: str | None) -> str:
    """Return a JSON text column in one line, compact; strings keep their quotes; unknown is `-`."""
    if text is None:
        return "-"
    parsed = parse(text)
    return text if isinstance(parsed, str) and not text.lstrip().startswith('"') else dump(parsed)


def call(name: str, arguments: object) -> str:
    """`name(key="value", …)`."""
    if isinstance(arguments, Mapping):
        inner = ", ".join(f"{key}={dump(value)}" for key, value in arguments.items())
    elif arguments is None:
        inner = ""
    else:
        inner = brief(arguments)
    return f"{name}({inner})"


def message_text(message: object) -> str:
    """Return a message in one line: its text, `→ tool(…)` for calls, `[image]` for what is not text."""
    if not isinstance(message, Mapping):
        return brief(message)
    parts = message.get("parts")
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        return brief(message.get("content", message))
    return " ".join(said for part in parts if (said := part_text(part)))


def part_text(part: object) -> str:
    """One part of a message in one line."""
    if not isinstance(part, Mapping):
        return brief(part)
    kind = part.get("type")
    if kind in ("text", "reasoning"):
        said = brief(part.get("content", ""))
        return said if kind == "text" else f"[reasoning] {said}"
    if kind == "tool_call":
        return "→ " + call(str(part.get("name") or "?"), part.get("arguments"))
    if kind == "tool_call_response":
        return brief(part.get("response", part.get("result")))
    if kind == "server_tool_call":
        return "→ " + call(str(part.get("name") or "?"), _without_type(part.get(kind))) + " (by the provider)"
    if kind == "server_tool_call_response":
        return brief(_without_type(part.get(kind)))
    return f"[{kind or 'part'}] {dump({k: v for k, v in part.items() if k != 'type'})}"


def _without_type(details: object) -> object:
    """Return the details of a provider's tool, whose type its name says."""
    if not isinstance(details, Mapping):
        return details
    return {key: value for key, value in details.items() if key != "type"}


def differing_paths(a: object, b: object, path: str = "") -> list[tuple[str, object, object]]:
    """Return the smallest places where two JSON values differ: (path, value of a, value of b); MISSING where absent."""
    if isinstance(a, dict) and isinstance(b, dict):
        places: list[tuple[str, object, object]] = []
        for key in dict.fromkeys([*a, *b]):
            places += differing_paths(
                a.get(key, MISSING), b.get(key, MISSING), f"{path}.{key}" if path else key
            )
        return places
    if isinstance(a, list) and isinstance(b, list):
        places = []
        for index in range(max(len(a), len(b))):
            one = a[index] if index < len(a) else MISSING
            other = b[index] if index < len(b) else MISSING
            places += differing_paths(one, other, f"{path}[{index}]")
        return places
    return [] if type(a) is type(b) and a == b else [(path, a, b)]


class _Missing:
    def __repr__(self) -> str:
        return "not set"


MISSING = _Missing()
