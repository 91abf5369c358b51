"""What a span or log record takes in memory while it waits: measured where a span ends, so quick rather than exact.

Every text that an agent chooses counts, wherever it lies: names, the status, keys, and values at any depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from sys import getsizeof
from types import NoneType
from typing import Any, TypeAlias

from opentelemetry.sdk.trace import ReadableSpan

from retrospan.exporter.delivery.records import BegunRecord, LogRecord

#: What waits.
Entry: TypeAlias = ReadableSpan | LogRecord
#: What a span takes in memory apart from its values; a log record; an event, a link; an attribute; what is below one.
_SPAN_BYTES, _RECORD_BYTES, _PART_BYTES, _PAIR_BYTES, _MEMBER_BYTES = 2_700, 1_000, 600, 150, 16
_FLAT = frozenset((str, int, float, bool, bytes, NoneType))


def weight(entry: Entry, most: int) -> int:
    """Return about how many bytes a span or log record takes; beyond `most` it is not looked at further."""
    if isinstance(entry, LogRecord):
        size = _RECORD_BYTES + _mapping(entry.attributes, most)
        if isinstance(entry, BegunRecord):
            size += getsizeof(entry.name) + _parts(entry.links, most - size)
        return size
    size = _SPAN_BYTES + getsizeof(entry.name) + _mapping(entry.attributes, most)
    if (said := entry.status.description) is not None:
        size += getsizeof(said)
    if events := entry.events:
        size += sum([getsizeof(event.name) for event in events]) + _parts(events, most - size)
    return size + _parts(entry.links, most - size)


def _parts(parts: Iterable[object], most: int) -> int:
    """Return what events or links take."""
    size = 0
    for part in parts:
        size += _PART_BYTES + _mapping(getattr(part, "attributes", None), most - size)
        if size > most:
            break
    return size


def _mapping(attributes: Mapping[Any, object] | None, most: int) -> int:
    size = 0
    for key, value in list(attributes.items()) if attributes else ():
        size += _PAIR_BYTES + (len(key) if isinstance(key, str) else 0)
        size += getsizeof(value) if type(value) in _FLAT else _nested(value, most - size)
        if size > most:
            break
    return size


def _nested(value: object, most: int) -> int:
    """Return what a value takes with all that it holds. By a list instead of calls: it may be of any depth."""
    size, open_values = 0, [iter((value,))]
    while open_values:
        for each in open_values[-1]:
            size += _MEMBER_BYTES + getsizeof(each, 0)
            if type(each) in _FLAT or size > most:
                continue
            if isinstance(each, Mapping):
                open_values.append(chain.from_iterable(list(each.items())))
                break
            if isinstance(each, tuple | list):
                open_values.append(iter(each))
                break
        else:
            open_values.pop()
        if size > most:
            break
    return size
