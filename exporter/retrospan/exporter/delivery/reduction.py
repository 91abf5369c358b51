"""A span or log record that no request can carry loses its largest values, and each of them leaves a description.

The description is a JSON text: how many bytes there were, their SHA-256, and how they began. `retrospan.redacted`
lists the place with the rule `size`. Ids, times, names and every smaller value stay.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256

from retrospan.schemas.redaction.matching import Taken
from retrospan.schemas.redaction.messages import SPAN, Message
from retrospan.schemas.redaction.walk import Field, fields, marked
from retrospan.schemas.wire import DELIMITED, delimited

RULE = "size"
_EVENTS = 11
_EVENT_ATTRIBUTES = 3
_SHOWN_BYTES = 500
#: Below this a description is no smaller than the value.
_LEAST = 2_000


@dataclass(frozen=True, slots=True)
class _Place:
    """An attribute of the span, or of its event number `event`: where it stands among the fields."""

    size: int
    field: int
    event: int | None


def reduced(part: bytes, most_bytes: int, shape: Message = SPAN) -> bytes | None:
    """Return the span, or what `shape` says, in at most so many bytes; None where that cannot be."""
    top = list(fields(part))
    events = {
        place: list(fields(each.content))
        for place, each in enumerate(top)
        if shape is SPAN and _is(each, _EVENTS)
    }
    places = [_Place(len(each.content), n, None) for n, each in enumerate(top) if _is(each, shape.attributes)]
    for place, inner in events.items():
        places += [
            _Place(len(each.content), n, place)
            for n, each in enumerate(inner)
            if _is(each, _EVENT_ATTRIBUTES)
        ]
    places.sort(key=lambda place: -place.size)
    excess, taken = len(part) + _LEAST - most_bytes, Taken()
    for found in places:
        if excess <= 0 or found.size < _LEAST:
            break
        among = top if found.event is None else events[found.event]
        old = among[found.field]
        content, key = _described(old.content)
        among[found.field] = Field(old.number, DELIMITED, delimited(old.number, content), content)
        excess -= len(old.content) - len(content)
        prefix = "attributes" if found.event is None else f"events[{_ordinal(top, found.event)}].attributes"
        taken.note(f"{prefix}.{key}", RULE)
    if not taken:
        return None
    for place, inner in events.items():
        content = b"".join(each.whole for each in inner)
        top[place] = Field(_EVENTS, DELIMITED, delimited(_EVENTS, content), content)
    small = marked(b"".join(each.whole for each in top), shape.attributes, taken)
    return small if len(small) <= most_bytes else None


def _is(each: Field, number: int) -> bool:
    return each.number == number and each.wire_type == DELIMITED


def _ordinal(top: list[Field], place: int) -> int:
    return sum(_is(each, _EVENTS) for each in top[:place])


def _described(pair: bytes) -> tuple[bytes, str]:
    """Return the attribute with a description for its value, and its key."""
    key = value = b""
    for each in fields(pair):
        if each.number == 1:
            key = each.content
        elif each.number == 2:
            value = each.content
    inner = next(iter(fields(value)), None)
    # Texts and bytes are described themselves, lists and maps as they are encoded.
    said = inner.content if inner is not None and inner.number in (1, 7) else value
    description = {
        "omitted_bytes": len(said),
        "sha256": sha256(said).hexdigest(),
        "begins": said[:_SHOWN_BYTES].decode(errors="ignore"),
    }
    text = json.dumps(description, ensure_ascii=False).encode()
    return delimited(1, key) + delimited(2, delimited(1, text)), key.decode(errors="replace")
