"""From raw rows back to the OTLP request that they came from, in protobuf. Pure; the reverse of landing.

What comes out means what was sent: every field, attribute and value with its type, order and repetition, every
event and link, text that is not UTF-8 included. Gone are only the grouping (members of one resource and scope share
it again), repetition (what was sent twice is there once), the payload bits of a NaN, entity references of a
resource, and fields that this release does not know. The write-ahead log has those too, byte by byte.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, cast

from retrospan.schemas.raw import Event, Link, RawLog, RawSpan, Triple
from retrospan.schemas.wire import FIXED32, FIXED64, VARINT, delimited, varint

_UINT64 = (1 << 64) - 1
_Row = TypeVar("_Row", RawSpan, RawLog)


def traces_request(spans: Iterable[RawSpan]) -> bytes:
    """Return an ExportTraceServiceRequest with these spans, in their order within each resource and scope."""
    return _request(spans, _span)


def logs_request(logs: Iterable[RawLog]) -> bytes:
    """Return an ExportLogsServiceRequest with these log records, in their order within each resource and scope."""
    return _request(logs, _log)


def _request(rows: Iterable[_Row], encode: Callable[[_Row], bytes]) -> bytes:
    resources: dict[tuple[bytes, bytes], dict[tuple[bytes, bytes], list[bytes]]] = {}
    for row in rows:
        resource = _attributes(1, row.resource_attributes) + _number(2, row.resource_dropped)
        scope = (
            _text(1, row.scope_name)
            + _text(2, row.scope_version)
            + _attributes(3, row.scope_attributes)
            + _number(4, row.scope_dropped)
        )
        scopes = resources.setdefault((resource, _text(3, row.resource_schema_url)), {})
        scopes.setdefault((scope, _text(3, row.scope_schema_url)), []).append(encode(row))
    # A log's groups have the same field numbers as a trace's.
    return b"".join(
        delimited(
            1,
            delimited(1, resource)
            + b"".join(
                delimited(2, delimited(1, scope) + b"".join(delimited(2, member) for member in members) + url)
                for (scope, url), members in scopes.items()
            )
            + resource_url,
        )
        for (resource, resource_url), scopes in resources.items()
    )


def _span(row: RawSpan) -> bytes:
    return b"".join(
        (
            _id(1, row.trace_id),
            _id(2, row.span_id),
            _text(3, row.trace_state),
            _id(4, row.parent_span_id),
            _text(5, row.name),
            _number(6, row.kind),
            _fixed64(7, row.started_ns),
            _fixed64(8, row.ended_ns),
            _attributes(9, row.attributes),
            _number(10, row.dropped_attributes),
            *(delimited(11, _event(event)) for event in row.events),
            _number(12, row.dropped_events),
            *(delimited(13, _link(link)) for link in row.links),
            _number(14, row.dropped_links),
            _message(15, _text(2, row.status_message) + _number(3, row.status_code)),
            _fixed32(16, row.flags),
        )
    )


def _event(event: Event) -> bytes:
    time_ns, name, attributes, dropped = event
    return _fixed64(1, time_ns) + _text(2, name) + _attributes(3, attributes) + _number(4, dropped)


def _link(link: Link) -> bytes:
    trace_id, span_id, trace_state, flags, attributes, dropped = link
    return b"".join(
        (
            _id(1, trace_id),
            _id(2, span_id),
            _text(3, trace_state),
            _attributes(4, attributes),
            _number(5, dropped),
            _fixed32(6, flags),
        )
    )


def _log(row: RawLog) -> bytes:
    kind, body = row.body
    return b"".join(
        (
            _fixed64(1, row.time_ns),
            _number(2, row.severity_number),
            _text(3, row.severity_text),
            delimited(5, _value(kind, body)) if kind != "unset" else b"",
            _attributes(6, row.attributes),
            _number(7, row.dropped_attributes),
            _fixed32(8, row.flags),
            _id(9, row.trace_id),
            _id(10, row.span_id),
            _fixed64(11, row.observed_ns),
            _text(12, row.event_name),
        )
    )


def _attributes(field: int, triples: Sequence[Triple]) -> bytes:
    return b"".join(delimited(field, _member(key, _value(kind, value))) for key, kind, value in triples)


def _member(key: str, value: bytes) -> bytes:
    return _text(1, key) + delimited(2, value)


def _value(kind: str, text: str) -> bytes:
    """Return an AnyValue from what the raw tables hold of it (`retrospan.schemas.raw`)."""
    if kind == "array":
        return _array(map(_plain, json.loads(text)))
    if kind == "kvlist":
        # Pairs, not a dict: a key may be repeated.
        pairs = cast("list[tuple[str, object]]", json.loads(text, object_pairs_hook=list))
        return _kvlist((key, _plain(value)) for key, value in pairs)
    if kind == "array*":
        return _array(_SCALARS[tag](inner) for tag, inner in json.loads(text))
    if kind == "kvlist*":
        return _kvlist((key, _SCALARS[tag](inner)) for key, tag, inner in json.loads(text))
    return _SCALARS[kind](text)


def _array(elements: Iterable[bytes]) -> bytes:
    return delimited(5, b"".join(delimited(1, element) for element in elements))


def _kvlist(members: Iterable[tuple[str, bytes]]) -> bytes:
    return delimited(6, b"".join(delimited(1, _member(key, value)) for key, value in members))


def _plain(value: object) -> bytes:
    """Return an element of a list without tags, where JSON's types are the sender's."""
    if value is None:
        return b""
    if isinstance(value, bool):
        return _bool(value)
    if isinstance(value, int):
        return _int(value)
    return _double(value) if isinstance(value, float) else _string(str(value))


def _string(text: str) -> bytes:
    return delimited(1, text.encode("utf-8", "surrogateescape"))


def _bool(flag: bool) -> bytes:
    return varint(2 << 3 | VARINT) + varint(flag)


def _int(number: int) -> bytes:
    return varint(3 << 3 | VARINT) + varint(number & _UINT64)


def _double(number: float) -> bytes:
    return varint(4 << 3 | FIXED64) + struct.pack("<d", number)


#: Each kind, and the tag that stands for it inside a tagged list, to the member of an AnyValue. The member is there
#: also for '', 0 and false: that is what tells them from a value without any.
_SCALARS: dict[str, Callable[[str], bytes]] = {
    "unset": lambda text: b"",
    "string": _string,
    "bool": lambda text: _bool(text == "true"),
    "int": lambda text: _int(int(text)),
    "double": lambda text: _double(float(text)),
    "bytes": lambda text: delimited(7, base64.b64decode(text)),
    "A": lambda text: delimited(5, base64.b64decode(text)),
    "M": lambda text: delimited(6, base64.b64decode(text)),
}
_SCALARS |= {kind[0]: _SCALARS[kind] for kind in ("unset", "string", "bool", "int", "double")}
_SCALARS["y"] = _SCALARS["bytes"]


# Fields of a message; one that holds the default is absent, as proto3 writes it.
def _text(field: int, text: str) -> bytes:
    return delimited(field, text.encode("utf-8", "surrogateescape")) if text else b""


def _message(field: int, content: bytes) -> bytes:
    return delimited(field, content) if content else b""


def _id(field: int, digits: str) -> bytes:
    return delimited(field, bytes.fromhex(digits)) if digits else b""


def _number(field: int, number: int) -> bytes:
    return varint(field << 3 | VARINT) + varint(number & _UINT64) if number else b""


def _fixed64(field: int, number: int) -> bytes:
    return varint(field << 3 | FIXED64) + struct.pack("<Q", number) if number else b""


def _fixed32(field: int, number: int) -> bytes:
    return varint(field << 3 | FIXED32) + struct.pack("<I", number) if number else b""
