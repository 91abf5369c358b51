"""Objects that a span was given, or returned, and of which each field is an attribute of its own: `x.inputs.city`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from retrospan.ingest.interpret.spans.name_words import words_of
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.interpret.spans.unflatten import nested
from retrospan.ingest.interpret.spans.vocabulary import INPUT, OUTPUT
from retrospan.ingest.json_text import read_value

#: What names say under which such an object lies, for what was given and for what was returned.
_UNDER: Mapping[str, re.Pattern[str]] = {
    INPUT: re.compile(r"(.*[._:/](?:inputs|arguments|parameters|params))\.([^.].*)"),
    OUTPUT: re.compile(r"(.*[._:/](?:outputs|results?|returned|return_value))\.([^.].*)"),
}
#: Fields that say of a value, which is another field or stands beside it, what it is.
_OF_VALUES = frozenset(
    ("value", "mime_type", "type", "format", "text", "json", "content", "data", "id", "role")
)
#: The only field of what is not an object, and how its text says that it is JSON.
_DEFAULT = "__default__"
_FORM = re.compile(r"@[\w.]+=json:")


def flattened(places: SpanFields, shape: str) -> object:
    """Return the object that a span was given (`INPUT`), or returned (`OUTPUT`), field by field; None where it tells none so,
    or tells it whole as well."""
    of_side = (
        "s." in places.listed
        or "ed." in places.listed
        or "_value." in places.listed
        or "result." in places.listed
    )
    if not of_side:
        return None
    attributes = places.all[0]
    found: dict[str, list[tuple[str, object]]] = {}
    for key, value in attributes.items():
        under = _split(key, shape)
        if under is not None:
            found.setdefault(under[0], []).append((under[1], value))
    if len(found) != 1:
        return None
    ((prefix, leaves),) = found.items()
    names = {path.partition(".")[0] for path, _ in leaves}
    if prefix in attributes or names <= _OF_VALUES or any(name.isdecimal() for name in names):
        return None
    told = nested(leaves)
    only = told[_DEFAULT] if told.keys() == {_DEFAULT} else told
    if isinstance(only, str):
        form = _FORM.match(only)
        return read_value(only[form.end() :]) if form is not None else only
    return only


@lru_cache(8_192)
def _split(key: str, shape: str) -> tuple[str, str] | None:
    """Return the name of the object and of the field that the name of an attribute says, where it says both and is not the
    name of the whole."""
    match = _UNDER[shape].fullmatch(key)
    if match is None or words_of(key) & {"call id"}:
        return None
    return match[1], match[2]
