"""Values as a framework's serializer packs them, written as JSON that people, rules and readers can see into.

Serializers that write MessagePack put what JSON has no form for (a message, a set, a time) into extensions: a code and
bytes. Here an extension lies open. An object with a single key that begins with `$` is one of these:

    {"$extension": [code, value]}      {"$bytes": base64}      {"$number": "nan"}
    {"$map": [[key, value], …]}        keys that are not text, or begin with `$`
    {"$unwritten": type}               the value could not be packed

The exporter writes this and whoever restores a checkpoint reads it. A value that the exporter had to cut holds
`{"$cut": …}` in its place: docs/recording.md.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

#: The form of a checkpoint's content. A reader refuses a higher one.
FORM = 1

EXTENSION, BYTES, NUMBER, MAP, UNWRITTEN, CUT = (
    "$extension",
    "$bytes",
    "$number",
    "$map",
    "$unwritten",
    "$cut",
)


class NotInForm(ValueError):
    """JSON that this module did not write."""


@dataclass(frozen=True, slots=True)
class Extension:
    """An extension, with what its bytes hold."""

    code: int
    value: object


def written(value: object) -> object:
    """Return a value as JSON values. It is made of what MessagePack holds, and of Extension."""
    if isinstance(value, Extension):
        return {EXTENSION: [value.code, written(value.value)]}
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value)
        if all(isinstance(key, str) and not key.startswith("$") for key in pairs):
            return {cast(str, key): written(each) for key, each in pairs.items()}
        return {MAP: [[written(key), written(each)] for key, each in pairs.items()]}
    if isinstance(value, list | tuple):
        return [written(each) for each in cast("list[object]", value)]
    if isinstance(value, bytes):
        return {BYTES: b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {NUMBER: str(value)}
    return value


def unwritten(reason: str) -> object:
    """Return what stands for a value that could not be packed."""
    return {UNWRITTEN: reason}


def read(value: object) -> object:
    """Return the value that was written. Raises NotInForm: also for what was cut, or was not written at all."""
    if isinstance(value, list):
        return [read(each) for each in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    pairs = cast("dict[str, object]", value)
    if not any(key.startswith("$") for key in pairs):
        return {key: read(each) for key, each in pairs.items()}
    if len(pairs) == 1:
        ((mark, held),) = pairs.items()
        try:
            return _marked(mark, held)
        except (TypeError, ValueError) as error:
            raise NotInForm(f"{mark} holds {str(held)[:80]!r}") from error
    raise NotInForm(f"an object has the keys {sorted(pairs)[:5]}")


def _marked(mark: str, held: object) -> object:
    if mark == EXTENSION:
        code, value = cast("list[object]", held)
        return Extension(int(cast(int, code)), read(value))
    if mark == MAP:
        return {_key(key): read(value) for key, value in cast("list[list[object]]", held)}
    if mark == BYTES:
        return b64decode(cast(str, held), validate=True)
    if mark == NUMBER:
        return float(cast(str, held))
    raise NotInForm(f"{mark} stands for a value that is not on record")


def _key(key: object) -> object:
    value = read(key)
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def lost(value: object) -> str | None:
    """Return why a written value cannot be read back: it was cut, or not written; None if it can."""
    for each in _objects(value):
        if CUT in each:
            return "was cut, as it is larger than RETROSPAN_VALUE_LIMIT_BYTES"
        if UNWRITTEN in each:
            return f"could not be written ({each[UNWRITTEN]})"
    return None


def extensions(value: object) -> Iterator[Extension]:
    """Yield every extension in a value that was read, the outer ones first."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Extension):
            yield each
            waiting.append(each.value)
        elif isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list | tuple):
            waiting += each


def texts(value: object) -> Iterator[str]:
    """Yield every text in JSON values."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _objects(value: object) -> Iterator[dict[str, object]]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            # Keys that begin with `$` are ours: those of the program lie in `$map`.
            yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
