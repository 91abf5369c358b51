"""How an agent's values look as JSON: one canonical form, and a description of values that have none.

| value | form |
|---|---|
| None, bool, int, str, finite float, list, tuple, dict | itself; keys that are not text as JSON writes them, else as text |
| NaN and the infinities | `"NaN"`, `"Infinity"`, `"-Infinity"` |
| dataclass, attrs, msgspec and pydantic objects, mappings | object of their fields |
| enum | its value |
| datetime, date, time | ISO 8601 text; timedelta: seconds |
| Decimal, UUID, Path, IP address | text |
| set, frozenset | array in the order of its elements' JSON |
| bytes | `{"$type": "bytes", "$base64": …}` |
| numpy scalar, array | number or text, nested arrays |
| exception | `{"$type": …, "$message": …}` |
| a secret of pydantic | the asterisks it prints |
| anything else | `{"$type": …, "$repr": …}`, at most 500 characters of the repr |

A cycle, and what lies deeper than 100 levels, is described in the last form with a `$note`. Nothing here raises an
`Exception`, whatever the value does when it is looked at.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from base64 import b64encode
from collections import deque
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from math import isnan
from pathlib import PurePath
from typing import cast
from uuid import UUID

from retrospan.schemas.hashing import canonical_json

#: How much of a repr, or of an exception's message, is kept: characters.
REPR_CHARACTERS = 500
#: Containers nested deeper than this are described.
MAX_DEPTH = 100
#: More containers than this are described.
MOST_CONTAINERS = 100_000

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_AS_TEXT = (Decimal, UUID, PurePath, IPv4Address, IPv6Address)


def describe(value: object, note: str = "") -> dict[str, object]:
    """Describe a value that has no JSON form: type, bounded repr, and the reason."""
    found: dict[str, object] = {"$type": type_name(value)}
    try:
        # Where it lies in memory differs from run to run, and says nothing.
        text = _ADDRESS.sub("", repr(value))
        found["$repr"] = text if len(text) <= REPR_CHARACTERS else text[:REPR_CHARACTERS] + "…"
    except Exception as error:  # noqa: BLE001 - a guest
        found["$repr_failed"] = type_name(error)
    if note:
        found["$note"] = note
    return found


def type_name(value: object) -> str:
    """Return the name of a value's type, with its module unless that is builtins."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def opened(value: object) -> object:
    """Return one level of a value that JSON does not know, in values that are nearer to JSON; else its description.

    Raises RecursionError where the stack is at its end: then it is for the caller to say where.
    """
    try:
        return _opened(value)
    except RecursionError:
        raise
    except Exception as error:  # noqa: BLE001 - a guest
        return describe(value, f"could not be read: {type_name(error)}")


def _opened(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, _AS_TEXT):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return {"$type": "bytes", "$base64": b64encode(bytes(value)).decode()}
    if isinstance(value, set | frozenset):
        return _in_order(value)
    if isinstance(value, deque):
        return list(value)
    if isinstance(value, BaseException):
        return {"$type": type_name(value), "$message": str(value)[:REPR_CHARACTERS]}
    if isinstance(value, type):
        return describe(value)
    fields = _fields(value)
    if fields is not None:
        return fields
    if isinstance(value, Mapping):
        return dict(value.items())
    numbers = _numbers(value)
    return describe(value) if numbers is value else numbers


def _fields(value: object) -> dict[str, object] | None:
    """Return the fields of an object that says which it has: pydantic, dataclass, attrs, msgspec."""
    kind = type(value)
    if hasattr(kind, "model_fields") and hasattr(kind, "model_dump"):
        return cast("dict[str, object]", _dumped(value))
    if hasattr(kind, "get_secret_value"):
        return {"$type": type_name(value), "$secret": str(value)}
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    attrs = getattr(kind, "__attrs_attrs__", None)
    if attrs is not None:
        return {field.name: getattr(value, field.name, None) for field in attrs}
    names = getattr(kind, "__struct_fields__", None)
    return None if names is None else {name: getattr(value, name, None) for name in names}


def _dumped(value: object) -> object:
    """Return the fields of a pydantic object; by its own serialisers, or as they are where one of those fails."""
    pydantic = sys.modules.get("pydantic")
    try:
        return value.model_dump(mode="python", warnings=False)  # type: ignore[attr-defined]
    except Exception:
        if pydantic is not None and isinstance(value, pydantic.BaseModel):
            return dict(cast("Mapping[str, object]", value.__dict__))
        raise


def _numbers(value: object) -> object:
    """Return a numpy scalar or array, or a tensor, in Python's own numbers; anything else as it is."""
    if type(value).__module__.partition(".")[0] in ("numpy", "torch", "jax", "jaxlib", "pandas"):
        tolist = getattr(value, "tolist", None)
        if tolist is not None:
            return cast(object, tolist())
    return value


def _in_order(values: set[object] | frozenset[object]) -> list[object]:
    """Return the elements of a set in an order that every process gives."""
    plain = [walked(value) for value in values]
    return sorted(plain, key=canonical_json)


class _Room:
    """How many containers may still be written."""

    def __init__(self, left: int) -> None:
        self.left = left


def walked(value: object, most_containers: int = MOST_CONTAINERS) -> object:
    """Return a value as JSON values throughout; slower than `opened`, and never fails: cycles, depth, and what is
    beyond so many containers, are described. Objects that hold each other in every direction have more ways than can be
    walked.
    """
    try:
        return _walk(value, (), 0, _Room(most_containers))
    except RecursionError:
        return describe(value, "nested deeper than the stack")


def _walk(value: object, above: tuple[int, ...], depth: int, room: _Room) -> object:
    if value is None or isinstance(value, bool):
        return value
    kind = type(value)
    if kind is str or kind is int:
        return _number(value) if kind is int else value
    if kind is float:
        return _spelled(cast(float, value))
    if isinstance(value, Enum):
        return _walk(opened(value), above, depth, room)
    if isinstance(value, str | int | float):
        # A subclass: its own methods are not trusted with the conversion.
        if isinstance(value, str):
            return str.__str__(value)
        plain = int.__int__(value) if isinstance(value, int) else float.__float__(value)
        return _walk(plain, above, depth, room)
    room.left -= 1
    if room.left < 0:
        return {"$type": type_name(value), "$note": "too large: what holds it has too many parts"}
    if id(value) in above:
        return {"$type": type_name(value), "$note": "a cycle: contains itself"}
    if depth >= MAX_DEPTH:
        return {"$type": type_name(value), "$note": f"deeper than {MAX_DEPTH} levels"}
    inside = (*above, id(value))
    try:
        if isinstance(value, dict):
            return {_key(key): _walk(item, inside, depth + 1, room) for key, item in list(value.items())}
        if isinstance(value, list | tuple):
            return [_walk(item, inside, depth + 1, room) for item in list(value)]
    except Exception as error:  # noqa: BLE001 - a guest
        return describe(value, f"could not be read: {type_name(error)}")
    try:
        near = opened(value)
    except RecursionError:
        return describe(value, "could not be read: RecursionError")
    return _walk(near, inside, depth + 1, room)


def _number(value: object) -> object:
    try:
        str(value)
    except ValueError:  # more digits than the interpreter turns into text
        return {"$type": "int", "$hex": hex(cast(int, value))}
    return value


def _spelled(value: float) -> object:
    if isnan(value):
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _key(key: object) -> str:
    if type(key) is str:
        return key
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, Enum):
        return _key(key.value)
    try:
        return str.__str__(key) if isinstance(key, str) else str(key)
    except Exception:  # noqa: BLE001 - a guest
        return f"<{type_name(key)}>"
