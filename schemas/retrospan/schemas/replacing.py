"""A value with a part of it replaced: of mappings, lists, dataclasses and models, without a change to the old one.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from datetime import datetime
from typing import Any, cast

#: What takes a list, where JSON has one form for all of them.
_OF_ITEMS = (tuple, set, frozenset)


class NoSuchPart(LookupError):
    """A value has no part of that name."""


def replaced(value: object, path: Sequence[str], new: object) -> object:
    """Return the value with the part at a path replaced. Numbers count the items of lists; keys of mappings may be new.

    Raises NoSuchPart.
    """
    if not path:
        return like(value, new)
    name, *rest = path
    if value is None:
        return {name: replaced(None, rest, new)}
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        return {**fields, name: replaced(fields.get(name), rest, new)}
    if isinstance(value, list):
        items = [*cast("list[object]", value)]
        if not name.isdecimal() or int(name) >= len(items):
            raise NoSuchPart(f"a list of {len(items)} has no item {name!r}; they are counted from 0")
        items[int(name)] = replaced(items[int(name)], rest, new)
        return items
    if name.startswith("_") or not hasattr(value, name):
        raise NoSuchPart(f"a {type(value).__name__} has no field {name!r}")
    part = replaced(getattr(value, name), rest, new)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(cast(Any, value), **{name: part})
    if hasattr(value, "model_copy"):
        return cast(Any, value).model_copy(update={name: part})
    raise NoSuchPart(f"the field {name!r} of a {type(value).__name__} cannot be replaced")


def like(value: object, new: object) -> object:
    """Return a JSON value as one of the kind that it takes the place of, where JSON has no such kind."""
    if isinstance(value, _OF_ITEMS) and isinstance(new, list):
        return cast(Any, type(cast(object, value)))(new)
    if isinstance(value, datetime) and isinstance(new, str):
        return datetime.fromisoformat(new)
    if isinstance(new, dict) and not isinstance(value, type):
        if hasattr(value, "model_validate"):
            return cast(Any, type(value)).model_validate(new)
        if is_dataclass(value):
            return cast(Any, type(value))(**cast("dict[str, Any]", new))
    return new
