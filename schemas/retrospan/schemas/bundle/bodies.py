"""Bodies of a bundle: each JSON value once, named by the hash of its text."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from hashlib import sha256

from retrospan.schemas.bundle.fields import parse
from retrospan.schemas.bundle.json_values import Json
from retrospan.schemas.errors import BundleDamaged


def readable(value: Json) -> bytes:
    """Return a value as JSON for people: a line for each item, every character as itself.

    Keys keep the order in which they were recorded: programs print what a tool returned, and so the model reads it.
    """
    return _written(value, indent=2, sort_keys=False)


def line_of(value: Json) -> bytes:
    """Return a value as one line of JSON, keys sorted."""
    return _written(value, indent=None, sort_keys=True)


def _written(value: Json, *, indent: int | None, sort_keys: bool) -> bytes:
    text = json.dumps(_finite(value), sort_keys=sort_keys, ensure_ascii=False, allow_nan=False, indent=indent)
    # Half a surrogate pair has no UTF-8: it is escaped, as JSON can.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _finite(value: Json) -> Json:
    """Return the value with NaN and the infinities as texts, as they are hashed: JSON has none."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value


class BodyWriter:
    """Collects bodies and names them."""

    def __init__(self) -> None:
        self.texts = dict[str, bytes]()
        # Histories repeat the same objects: each is written once. The object is kept, or another might have its id.
        self._named = dict[int, tuple[Json, str]]()

    def name(self, value: Json) -> str:
        """Return the hash under which the value is in the bundle."""
        known = self._named.get(id(value))
        if known is not None:
            return known[1]
        text = readable(value)
        digest = sha256(text).hexdigest()
        self.texts[digest] = text
        self._named[id(value)] = value, digest
        return digest


class BodyReader:
    """Gives bodies by their names, each parsed once."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._values = dict[str, Json]()

    def value(self, name: str) -> Json:
        """Return the value of that hash. Raises BundleDamaged if there is none."""
        if name not in self._values:
            member = member_of(name)
            data = self._read(member)
            if data is None:
                raise BundleDamaged(f"{member} is missing, and a call needs it.", member=member)
            self._values[name] = parse(data, member)
        return self._values[name]


def member_of(name: str) -> str:
    """Return the member that holds the body of that hash."""
    return f"bodies/{name}.json"
