"""Spans of the OpenTelemetry SDK, and log records, as the bytes of OTLP, one by one.

No content of either makes this fail: text that UTF-8 cannot represent is written with backslashes, integers beyond 64
bits are written as text, and values that OTLP cannot represent are described. A batch is never lost for one bad value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from struct import pack
from typing import Any, cast

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext

from retrospan.exporter.delivery.notices import say
from retrospan.exporter.delivery.records import LogRecord, kind_number
from retrospan.schemas.wire import delimited, varint

_STATUSES = {"UNSET": 0, "OK": 1, "ERROR": 2}
_HAS_IS_REMOTE, _IS_REMOTE = 0x100, 0x200
_INFO, _SAMPLED = 9, 1
_MOST_NESTED = 20
_LONGEST_DESCRIPTION = 1_000
#: Of which times it was said that one cannot be used.
_SAID: set[str] = set()


def encode_span(span: ReadableSpan) -> bytes:
    """Return the span as opentelemetry.proto.trace.v1.Span."""
    context, parent = span.get_span_context(), span.parent
    parts: list[bytes] = []
    if context is not None:
        parts += _ids(context)
        parts.append(_trace_state(3, context))
    if parent is not None:
        parts.append(delimited(4, parent.span_id.to_bytes(8, "big")))
    parts += (
        delimited(5, text_bytes(span.name)),
        _number(6, kind_number(span.kind)),
        _fixed64(7, span.start_time, span.name, "start time"),
        _fixed64(8, span.end_time, span.name, "end time"),
        encode_attributes(9, span.attributes),
        _number(10, span.dropped_attributes),
    )
    for event in span.events:
        content = _fixed64(1, event.timestamp, span.name, "time of an event") + delimited(
            2, text_bytes(event.name)
        )
        content += encode_attributes(3, event.attributes) + _number(4, event.dropped_attributes)
        parts.append(delimited(11, content))
    parts.append(_number(12, span.dropped_events))
    for link in span.links:
        content = b"".join(_ids(link.context)) + _trace_state(3, link.context)
        content += encode_attributes(4, link.attributes) + _number(5, link.dropped_attributes)
        parts.append(delimited(13, content + _flags(6, link.context)))
    parts.append(_number(14, span.dropped_links))
    status = _number(3, _STATUSES.get(span.status.status_code.name, 0))
    if span.status.description:
        status = delimited(2, text_bytes(span.status.description)) + status
    parts += (delimited(15, status), _flags(16, parent))
    return b"".join(parts)


def encode_log_record(record: LogRecord) -> bytes:
    """Return the record as opentelemetry.proto.logs.v1.LogRecord. It was observed when it happened."""
    parts = [
        _fixed64(1, record.at),
        _number(2, _INFO),
        delimited(3, b"INFO"),
        encode_attributes(6, record.said()),
    ]
    if record.trace_id:
        parts += (
            varint(8 << 3 | 5) + pack("<I", _SAMPLED),
            delimited(9, record.trace_id.to_bytes(16, "big")),
            delimited(10, record.span_id.to_bytes(8, "big")),
        )
    parts += (_fixed64(11, record.at), delimited(12, text_bytes(record.event)))
    return b"".join(parts)


def encode_resource(resource: Resource) -> bytes:
    """Return the resource as opentelemetry.proto.resource.v1.Resource."""
    return encode_attributes(1, resource.attributes)


def encode_scope(scope: InstrumentationScope | None) -> bytes:
    """Return the scope as opentelemetry.proto.common.v1.InstrumentationScope."""
    if scope is None:
        return b""
    version = delimited(2, text_bytes(scope.version)) if scope.version else b""
    return delimited(1, text_bytes(scope.name)) + version + encode_attributes(3, scope.attributes)


def encode_attributes(field: int, attributes: Mapping[str, object] | None) -> bytes:
    """Attributes as fields of KeyValues."""
    if not attributes:
        return b""
    # A copy: another thread may still set attributes of what it holds on to.
    return b"".join([delimited(field, _pair(key, value)) for key, value in list(attributes.items())])


def text_bytes(text: object) -> bytes:
    """Text as UTF-8; halves of surrogate pairs as `\\udc80`."""
    text = text if isinstance(text, str) else described(text)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace")


def described(value: object) -> str:
    """Return what stands for a value that has no form in OTLP. Never raises."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001
        text = f"its repr raises {type(error).__name__}"
    return f"<{type(value).__name__}: {text[:_LONGEST_DESCRIPTION]}>"


def _pair(key: object, value: object, depth: int = 0) -> bytes:
    return delimited(1, text_bytes(key)) + delimited(2, _value(value, depth))


def _value(value: object, depth: int = 0) -> bytes:
    """Return an AnyValue."""
    if isinstance(value, str):
        return delimited(1, text_bytes(value))
    if value is None:
        return b""
    if isinstance(value, bool):
        return b"\x10" + varint(value)
    if isinstance(value, int):
        if -(1 << 63) <= value < 1 << 63:
            return b"\x18" + varint(value & 0xFFFFFFFFFFFFFFFF)
        return delimited(1, _long_integer(value).encode())
    if isinstance(value, float):
        return b"\x21" + pack("<d", value)
    if isinstance(value, bytes | bytearray | memoryview):
        return delimited(7, bytes(value))
    if depth < _MOST_NESTED:
        if isinstance(value, Mapping):
            return delimited(6, _joined(_pair(key, each, depth + 1) for key, each in list(value.items())))
        if isinstance(value, Sequence):
            return delimited(5, _joined(_value(each, depth + 1) for each in list(value)))
    return delimited(1, text_bytes(described(value)))


def _long_integer(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # beyond the digits that Python writes
        return hex(value)


def _joined(members: Iterable[bytes]) -> bytes:
    return b"".join(delimited(1, member) for member in members)


def _ids(context: SpanContext) -> tuple[bytes, bytes]:
    return delimited(1, context.trace_id.to_bytes(16, "big")), delimited(
        2, context.span_id.to_bytes(8, "big")
    )


def _trace_state(field: int, context: SpanContext) -> bytes:
    if not context.trace_state:
        return b""
    return delimited(
        field, text_bytes(",".join(f"{key}={value}" for key, value in context.trace_state.items()))
    )


def _flags(field: int, context: SpanContext | None) -> bytes:
    flags = _HAS_IS_REMOTE | (_IS_REMOTE if context is not None and context.is_remote else 0)
    return varint(field << 3 | 5) + pack("<I", flags)


def _number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value) if value else b""


def _fixed64(field: int, value: object, name: object = "", what: str = "time") -> bytes:
    """Return a time in nanoseconds: of a number of any type, or of a datetime; 0, and said once, of anything else."""
    number = value if type(value) is int and 0 <= value < 1 << 64 else _nanoseconds(value, name, what)
    return varint(field << 3 | 1) + pack("<Q", number) if number else b""


def _nanoseconds(value: object, name: object, what: str) -> int:
    if value is None:
        return 0
    try:
        is_date, given = isinstance(value, datetime), cast(Any, value)
        number = int(given.timestamp() * 1_000_000) * 1_000 if is_date else int(given)
        if not isinstance(value, str) and 0 <= number < 1 << 64:
            return number
    except Exception:  # noqa: BLE001, S110 - whatever it is, it is described below
        pass
    if what not in _SAID:
        _SAID.add(what)
        say(
            f"the {what} of {described(name)[:100]} is {described(value)[:100]}, not nanoseconds: 0 is sent. This is "
            "logged once."
        )
    return 0
