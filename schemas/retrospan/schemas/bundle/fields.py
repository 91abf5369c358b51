"""The fields of an object that was read from a bundle, each of the type that it must have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeGuard

from retrospan.schemas.bundle.json_values import Json
from retrospan.schemas.bundle.sameness import MAX_REQUEST_DEPTH, may_nest_deeper, nests_deeper
from retrospan.schemas.errors import BundleDamaged


def is_whole(value: Json) -> TypeGuard[int]:
    """Tell whether a value is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


class Fields:
    """An object of a bundle and the member that holds it, which errors name."""

    def __init__(self, value: Json, member: str) -> None:
        if not isinstance(value, Mapping):
            raise BundleDamaged(f"{member}: {_kind(value)} stands where an object should.", member=member)
        self.values: Mapping[str, Json] = value
        self.member = member

    def refuse(self, name: str, wanted: str) -> BundleDamaged:
        """Return the error that says what the field should be."""
        found = _kind(self.values[name]) if name in self.values else "missing"
        return BundleDamaged(f"{self.member}: {name} should be {wanted}, and is {found}.", member=self.member)

    def text(self, name: str) -> str:
        """Return a text."""
        value = self.values.get(name)
        if not isinstance(value, str):
            raise self.refuse(name, "a text")
        return value

    def text_or_none(self, name: str) -> str | None:
        """Return a text, or None if the field is null or not there."""
        return None if self.values.get(name) is None else self.text(name)

    def whole(self, name: str) -> int:
        """Return a whole number."""
        value = self.values.get(name)
        if not is_whole(value):
            raise self.refuse(name, "a whole number")
        return value

    def whole_or_none(self, name: str) -> int | None:
        """Return a whole number, or None if the field is null or not there."""
        return None if self.values.get(name) is None else self.whole(name)

    def truth(self, name: str) -> bool:
        """Return true or false."""
        value = self.values.get(name)
        if not isinstance(value, bool):
            raise self.refuse(name, "true or false")
        return value

    def truth_or_none(self, name: str) -> bool | None:
        """Return true or false, or None if the field is null or not there."""
        return None if self.values.get(name) is None else self.truth(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(value for value in self.items(name) if isinstance(value, str))

    def items(self, name: str) -> list[Json]:
        """Return a list."""
        value = self.values.get(name)
        if not isinstance(value, list):
            raise self.refuse(name, "a list")
        return list[Json](value)

    def object_or_none(self, name: str) -> dict[str, Json] | None:
        """Return an object, or None if the field is null or not there."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.refuse(name, "an object")
        return dict[str, Json](value)


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"


def parse(data: bytes, member: str) -> Json:
    """Return the JSON value of a member, or of one of its lines. Raises BundleDamaged."""
    try:
        value: Json = json.loads(data.decode("utf-8"))
        if may_nest_deeper(data, MAX_REQUEST_DEPTH) and nests_deeper(value, MAX_REQUEST_DEPTH):
            raise RecursionError
        return value
    except RecursionError as error:
        raise BundleDamaged(f"{member} is nested too deeply to be read.", member=member) from error
    except ValueError as error:
        raise BundleDamaged(f"{member} is not JSON: {error}.", member=member) from error
