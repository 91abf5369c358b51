"""From the (kind, text) of the raw tables back to the value that was sent. Pure; called by the interpreter.

Total: any row that the raw tables can hold gives a value. Depth is not limited, neither for the text nor for Python's
stack; the value may nest as deep as the sender's did.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable

from retrospan.schemas.wire import DELIMITED, FIXED64, VARINT, NotAMessage, expect_varint, fields

#: A value is None, bool, int, float, str, bytes, list or dict, the last two of values.
Value = object

_DOUBLE = struct.Struct("<d")


def value_of(kind: str, text: str) -> Value:
    """Return the value of an attribute or body.

    A kvlist is a dict, of repeated keys the last wins. Text that is not UTF-8 is surrogate-escaped. Nested bytes
    that are not protobuf are returned as bytes.
    """
    return _READERS[kind](text)


def _tagged_array(text: str) -> list[Value]:
    return [_TAGS[tag](inner) for tag, inner in json.loads(text)]


def _tagged_kvlist(text: str) -> dict[str, Value]:
    return {key: _TAGS[tag](inner) for key, tag, inner in json.loads(text)}


def _unset(_: str) -> None:
    return None


def _is_true(text: str) -> bool:
    return text == "true"


def _text(text: str) -> str:
    return text


def _nested_array(text: str) -> Value:
    return decode_nested(base64.b64decode(text), is_array=True)


def _nested_kvlist(text: str) -> Value:
    return decode_nested(base64.b64decode(text), is_array=False)


_READERS: dict[str, Callable[[str], Value]] = {
    "unset": _unset,
    "string": _text,
    "bool": _is_true,
    "int": int,
    "double": float,
    "bytes": base64.b64decode,
    "array": json.loads,
    "kvlist": json.loads,
    "array*": _tagged_array,
    "kvlist*": _tagged_kvlist,
}
_TAGS: dict[str, Callable[[str], Value]] = {
    "s": _text,
    "b": _is_true,
    "i": int,
    "d": float,
    "y": base64.b64decode,
    "u": _unset,
    "A": _nested_array,
    "M": _nested_kvlist,
}


#: A container whose members are still to be read: the offsets of its bytes and where its members go.
_Frame = tuple[int, int, "list[Value] | dict[str, Value]"]


def decode_nested(data: bytes, *, is_array: bool) -> Value:
    """Return an ArrayValue's bytes as a list, a KeyValueList's as a dict; the bytes themselves if they are neither."""
    top: list[Value] | dict[str, Value] = [] if is_array else {}
    # Frames instead of recursion: a sender may nest deeper than Python's stack. Every member that is a container
    # is put in place empty, and filled when its frame is taken.
    frames: list[_Frame] = [(0, len(data), top)]
    try:
        while frames:
            start, end, into = frames.pop()
            for number, wire, _, at, stop in fields(data, start, end):
                if number == 1 and wire == DELIMITED:
                    key, value_at, value_end = (
                        ("", at, stop) if isinstance(into, list) else _member(data, at, stop)
                    )
                    value = _any_value(data, value_at, value_end, frames)
                    if isinstance(into, list):
                        into.append(value)
                    else:
                        into[key] = value
    except NotAMessage:
        return data
    return top


def _member(data: bytes, start: int, end: int) -> tuple[str, int, int]:
    """Return a KeyValue: its key and where its value lies (an empty range when it has none)."""
    key, value_at, value_end = "", end, end
    for number, wire, _, at, stop in fields(data, start, end):
        if number == 1 and wire == DELIMITED:
            key = data[at:stop].decode("utf-8", "surrogateescape")
        elif number == 2 and wire == DELIMITED:
            value_at, value_end = at, stop
    return key, value_at, value_end


def _any_value(data: bytes, start: int, end: int, frames: list[_Frame]) -> Value:
    """Return an AnyValue. Of several members the last holds; a container's frame goes onto `frames`."""
    value: Value = None
    frame: _Frame | None = None
    for number, wire, _, at, stop in fields(data, start, end):
        if (number, wire) not in _MEMBERS:
            continue
        value, frame = None, None
        if number == 5:
            frame = (at, stop, [])
        elif number == 6:
            frame = (at, stop, {})
        elif number == 1:
            value = data[at:stop].decode("utf-8", "surrogateescape")
        elif number == 7:
            value = data[at:stop]
        elif number == 4:
            value = _DOUBLE.unpack_from(data, at)[0]
        else:
            raw = expect_varint(data, at, stop)[0]
            value = bool(raw) if number == 2 else raw - (1 << 64) if raw >= 1 << 63 else raw
    if frame is None:
        return value
    frames.append(frame)
    return frame[2]


#: The members of AnyValue: field number and wire type.
_MEMBERS = frozenset(
    {(1, DELIMITED), (2, VARINT), (3, VARINT), (4, FIXED64), (5, DELIMITED), (6, DELIMITED), (7, DELIMITED)}
)
