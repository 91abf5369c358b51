"""The fields of OTLP's messages as JSON names them, and how each JSON value becomes protobuf bytes.

A `JsonField` is a tag and an encoder; a message is a table of fields by their lowerCamelCase name. An encoder raises
ValueError when a value does not fit, and the message on the way up says where: `attributes: value: intValue: …`.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from retrospan.ingest.otlp import lenient
from retrospan.ingest.otlp.json_stream import Large, skip
from retrospan.schemas.wire import DELIMITED, FIXED32, FIXED64, VARINT, varint

#: From a JSON value to a field's bytes behind its tag.
Encoder: TypeAlias = Callable[[object], bytes]

_INTEGER = re.compile(r"-?\d{1,20}", re.ASCII)
_SPELLED = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class Kind(NamedTuple):
    """A type of value: its wire type, its encoder, and whether it comes as a list."""

    wire_type: int
    encode: Encoder
    repeated: bool = False


class JsonField(NamedTuple):
    """A field of a message: its tag on the wire, and the rest of its kind."""

    tag: bytes
    encode: Encoder
    repeated: bool


Table: TypeAlias = Mapping[str, JsonField]


def table(**fields: tuple[int, Kind]) -> Table:
    """Return a message's fields: JSON name = (number, kind)."""
    return {
        name: JsonField(varint(number << 3 | kind.wire_type), kind.encode, kind.repeated)
        for name, (number, kind) in fields.items()
    }


def content(fields: Table, value: object) -> bytes:
    """Return a message's bytes, its fields in the order of the JSON. Raises ValueError."""
    if isinstance(value, Large):
        return _large_content(fields, value)
    if not isinstance(value, dict):
        raise _misfit(value, "an object")
    parts: list[bytes] = []
    for name, item in value.items():
        known = fields.get(name)
        if known is None or item is None:
            continue
        try:
            if known.repeated:
                for each in _list(item):
                    parts += (known.tag, known.encode(each))
            else:
                parts += (known.tag, known.encode(item))
        except (ValueError, OverflowError) as fault:
            raise ValueError(f"{name}: {fault}") from None
    return b"".join(parts)


def _large_content(fields: Table, value: Large) -> bytes:
    """Return the same of an object that is gone through. Of what comes twice the last counts, as elsewhere."""
    if value.kind != "{":
        raise _misfit(value, "an object")
    parts: dict[str, bytes | bytearray] = {}
    for name, item in value.items():
        known = fields.get(name)
        if known is None or item is None:
            skip(item)
            if known is not None:
                parts.pop(name, None)
            continue
        try:
            if known.repeated:
                many = bytearray()
                for each in _list(item):
                    many += known.tag
                    many += known.encode(each)
                parts[name] = many
            else:
                parts[name] = known.tag + known.encode(item)
        except (ValueError, OverflowError) as fault:
            raise ValueError(f"{name}: {fault}") from None
    return b"".join(parts.values())


def kind_of(value: object) -> str:
    """Return what a JSON value is, in words."""
    if isinstance(value, Large):
        return {"{": "an object", "[": "a list"}.get(value.kind, "a string")
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list"}
    return "null" if value is None else kinds.get(type(value), "an object")


def _misfit(value: object, wanted: str) -> ValueError:
    return ValueError(f"{kind_of(value)} instead of {wanted}")


def _list(value: object) -> Iterable[object]:
    if isinstance(value, Large) and value.kind == "[":
        return value.elements()
    if not isinstance(value, list):
        raise _misfit(value, "a list")
    return value


def _sized(data: bytes | bytearray) -> bytes:
    return varint(len(data)) + data


def _integer(value: object, low: int, high: int) -> int:
    number: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif (isinstance(value, float) and value.is_integer()) or (
        isinstance(value, str) and _INTEGER.fullmatch(value)
    ):
        number = int(value)
    if number is None:
        raise _misfit(value, "an integer")
    if not low <= number <= high:
        raise ValueError("a number that is out of range")
    return number


def _int64(value: object) -> bytes:
    return varint(_integer(value, -(1 << 63), (1 << 63) - 1) & (1 << 64) - 1)


def _uint32(value: object) -> bytes:
    return varint(_integer(value, 0, (1 << 32) - 1))


def _fixed32(value: object) -> bytes:
    return struct.pack("<I", _integer(value, 0, (1 << 32) - 1))


def _fixed64(value: object) -> bytes:
    return struct.pack("<Q", _integer(value, 0, (1 << 64) - 1))


def _double(value: object) -> bytes:
    if isinstance(value, str):
        number = _SPELLED[value] if value in _SPELLED else float(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    else:
        raise _misfit(value, "a number")
    return struct.pack("<d", number)


def _bool(value: object) -> bytes:
    if not isinstance(value, bool):
        raise _misfit(value, "true or false")
    return b"\x01" if value else b"\x00"


def _hex(value: object) -> bytes:
    if not isinstance(value, str) or not value.isascii() or not (value.isalnum() or value == ""):
        raise _misfit(value, "a hexadecimal id")
    try:
        return _sized(bytes.fromhex(value))
    except ValueError:
        raise ValueError("an id that is not hexadecimal") from None


def _large_base64(value: Large) -> bytes:
    """Return a long text, of which no more than a window is decoded at a time."""
    out = bytearray()
    rest = ""
    for part in value.text():
        rest += part.replace("-", "+").replace("_", "/")
        whole = len(rest) // 4 * 4 - 4  # what is left over may be padding
        if whole > 0:
            out += base64.b64decode(rest[:whole], validate=True)
            rest = rest[whole:]
    rest = rest.rstrip("=")
    out += base64.b64decode(rest + "=" * (-len(rest) % 4), validate=True)
    return _sized(out)


def _base64(value: object) -> bytes:
    if isinstance(value, Large) and value.kind == '"':
        try:
            return _large_base64(value)
        except (binascii.Error, ValueError):
            raise ValueError("text that is not base64") from None
    if not isinstance(value, str):
        raise _misfit(value, "base64")
    standard = value.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return _sized(base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True))
    except (binascii.Error, ValueError):
        raise ValueError("text that is not base64") from None


def _enum(names: Mapping[str, int]) -> Kind:
    def encode(value: object) -> bytes:
        if isinstance(value, str) and value in names:
            return varint(names[value])
        return varint(_integer(value, -(1 << 31), (1 << 31) - 1) & (1 << 64) - 1)

    return Kind(VARINT, encode)


def _message(fields: Table) -> Kind:
    return Kind(DELIMITED, lambda value: _sized(content(fields, value)))


def _many(kind: Kind) -> Kind:
    return kind._replace(repeated=True)


_HEX = Kind(DELIMITED, _hex)
_BASE64 = Kind(DELIMITED, _base64)
_INT64, _UINT32, _BOOL = Kind(VARINT, _int64), Kind(VARINT, _uint32), Kind(VARINT, _bool)
_FIXED64, _DOUBLE, _FIXED32 = Kind(FIXED64, _fixed64), Kind(FIXED64, _double), Kind(FIXED32, _fixed32)


class Codec:
    """OTLP's messages. `errors` is the error handler of `str.encode`: how text that is not Unicode becomes bytes."""

    def __init__(self, errors: str) -> None:
        self._errors = errors
        # Bytes that are not UTF-8 are there to be carried over, or not there at all.
        self.errors_of_bytes = "surrogateescape" if errors == "surrogateescape" else "strict"
        text = Kind(DELIMITED, self._text)
        value: dict[str, JsonField] = {}  # an AnyValue holds AnyValues
        any_value = _message(value)
        attributes = _many(_message(table(key=(1, text), value=(2, any_value))))
        value |= table(
            stringValue=(1, text),
            boolValue=(2, _BOOL),
            intValue=(3, _INT64),
            doubleValue=(4, _DOUBLE),
            arrayValue=(5, _message(table(values=(1, _many(any_value))))),
            kvlistValue=(6, _message(table(values=(1, attributes)))),
            bytesValue=(7, _BASE64),
        )
        self._resource = self._resource_fields(text, attributes)
        self._scope = table(
            name=(1, text), version=(2, text), attributes=(3, attributes), droppedAttributesCount=(4, _UINT32)
        )
        self._span = self._span_fields(text, attributes)
        self._log = table(
            timeUnixNano=(1, _FIXED64),
            severityNumber=(2, _enum(lenient.SEVERITIES)),
            severityText=(3, text),
            body=(5, any_value),
            attributes=(6, attributes),
            droppedAttributesCount=(7, _UINT32),
            flags=(8, _FIXED32),
            traceId=(9, _HEX),
            spanId=(10, _HEX),
            observedTimeUnixNano=(11, _FIXED64),
            eventName=(12, text),
        )

    def resource(self, value: object) -> bytes:
        return content(self._resource, value)

    def scope(self, value: object) -> bytes:
        return content(self._scope, value)

    def span(self, value: object) -> bytes:
        return content(self._span, value)

    def log(self, value: object) -> bytes:
        return content(self._log, value)

    def text(self, value: str) -> bytes:
        return value.encode(errors=self._errors)

    def _text(self, value: object) -> bytes:
        if isinstance(value, Large) and value.kind == '"':
            out = bytearray()
            for part in value.text():
                out += self.text(part)
            return _sized(out)
        if not isinstance(value, str):
            raise _misfit(value, "a string")
        return _sized(self.text(value))

    @staticmethod
    def _resource_fields(text: Kind, attributes: Kind) -> Table:
        entity = table(
            schemaUrl=(1, text), type=(2, text), idKeys=(3, _many(text)), descriptionKeys=(4, _many(text))
        )
        return table(
            attributes=(1, attributes),
            droppedAttributesCount=(2, _UINT32),
            entityRefs=(3, _many(_message(entity))),
        )

    @staticmethod
    def _span_fields(text: Kind, attributes: Kind) -> Table:
        event = table(
            timeUnixNano=(1, _FIXED64),
            name=(2, text),
            attributes=(3, attributes),
            droppedAttributesCount=(4, _UINT32),
        )
        link = table(
            traceId=(1, _HEX),
            spanId=(2, _HEX),
            traceState=(3, text),
            attributes=(4, attributes),
            droppedAttributesCount=(5, _UINT32),
            flags=(6, _FIXED32),
        )
        return table(
            traceId=(1, _HEX),
            spanId=(2, _HEX),
            traceState=(3, text),
            parentSpanId=(4, _HEX),
            flags=(16, _FIXED32),
            name=(5, text),
            kind=(6, _enum(lenient.SPAN_KINDS)),
            startTimeUnixNano=(7, _FIXED64),
            endTimeUnixNano=(8, _FIXED64),
            attributes=(9, attributes),
            droppedAttributesCount=(10, _UINT32),
            events=(11, _many(_message(event))),
            droppedEventsCount=(12, _UINT32),
            links=(13, _many(_message(link))),
            droppedLinksCount=(14, _UINT32),
            status=(15, _message(table(message=(2, text), code=(3, _enum(lenient.STATUS_CODES))))),
        )
