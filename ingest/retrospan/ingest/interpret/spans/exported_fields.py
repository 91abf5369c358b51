"""Objects whose fields begin with a capital, as Go writes those of a struct that has no other names for them."""

from __future__ import annotations

import re

from retrospan.ingest.json_text import MAX_DEPTH

#: By these an object is known as a message, a request or a response: what a tool returned may begin as it likes.
_TELLING = ({"Role", "Content"}, {"Role", "Parts"}, {"Message", "FinishReason"}, {"Content", "StopReason"})
_AROUND = frozenset(("Messages", "Contents", "Choices", "Candidates"))
#: What is in these is somebody's own.
_OWN = ("Arguments", "Args", "Input", "Response", "Result", "Parameters")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def with_plain_names(value: object) -> object:
    """Return a message, a request or a response, or a list of them, with the names that APIs have: `ToolCallID` is
    `tool_call_id`. Anything else as it is."""
    if isinstance(value, list):
        return [*map(_renamed, value)] if _are_exported(value) else value
    if not isinstance(value, dict):
        return value
    if _is_exported(value) or _is_around(value):
        return _renamed(value)
    found = [key for key, inner in value.items() if isinstance(inner, list) and _are_exported(inner)]
    return {**value, **{key: _renamed(value[key]) for key in found}} if found else value


def _is_exported(value: object) -> bool:
    # Asked of every message, and nearly none is: each of the sets has one of these names.
    return (
        isinstance(value, dict)
        and ("Content" in value or "Role" in value or "Message" in value)
        and any(names <= value.keys() for names in _TELLING)
    )


def _are_exported(values: list[object]) -> bool:
    return bool(values) and _is_exported(values[0]) and all(map(_is_exported, values))


def _is_around(value: dict[str, object]) -> bool:
    return not _AROUND.isdisjoint(value) and any(
        isinstance(inner := value.get(name), list) and _are_exported(inner) for name in _AROUND
    )


def _renamed(value: object, depth: int = MAX_DEPTH) -> object:
    if isinstance(value, list):
        return [_renamed(each, depth - 1) for each in value] if depth else value
    if not isinstance(value, dict) or not depth:
        return value
    return {
        _WORD.sub("_", key).lower() if key[:1].isupper() else key: (
            inner if key in _OWN else _renamed(inner, depth - 1)
        )
        for key, inner in value.items()
    }
