"""Requests that are small on the wire and large in memory: element bombs, in protobuf and JSON, traces and logs.

Each shape makes a body of about the size it is told. What is in one is what somebody could send, not what a client
library would.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from retrospan.schemas.wire import delimited

PROTOBUF, JSON = "application/x-protobuf", "application/json"
Signal = Literal["traces", "logs"]
_TRACE, _SPAN = bytes(range(16, 32)), bytes(range(16, 24))
_IDS = delimited(1, _TRACE) + delimited(2, _SPAN)
_LOG_IDS = delimited(9, _TRACE) + delimited(10, _SPAN)


class Bomb(NamedTuple):
    """What is sent: where, as what, and the body by its size before compression."""

    signal: Signal
    content_type: str
    make: Callable[[int], bytes]
    encoding: str = ""


def _many(unit: bytes) -> Callable[[int], bytes]:
    return lambda size: unit * (size // len(unit))


def request(*members: bytes) -> bytes:
    """Members in one scope of one resource."""
    return delimited(1, delimited(2, b"".join(delimited(2, member) for member in members)))


def _span(unit: bytes) -> Callable[[int], bytes]:
    """One span that is full of one thing."""
    return lambda size: request(_IDS + _many(unit)(size))


def _log(unit: bytes) -> Callable[[int], bytes]:
    return lambda size: request(_LOG_IDS + _many(unit)(size))


def _within(*path: int, unit: bytes, ids: bytes = _IDS) -> Callable[[int], bytes]:
    """A member that is full of one thing further inside."""

    def make(size: int) -> bytes:
        content = _many(unit)(size)
        for number in reversed(path):
            content = delimited(number, content)
        return request(ids + content)

    return make


def _spread(unit: bytes) -> Callable[[int], bytes]:
    """Many spans, none of them large, each full."""
    span = delimited(2, _IDS + _many(unit)(30_000))
    return lambda size: delimited(1, delimited(2, span * (size // len(span))))


def _deep(size: int) -> bytes:
    """One value, nested as deep as its size allows: lengths are fixed, so that it is made in linear time."""
    content = b""
    while len(content) < min(size, 60_000):
        content = delimited(5, delimited(1, content))
    attribute = delimited(9, delimited(1, b"k") + delimited(2, content))
    return request(*[_IDS + attribute] * (size // len(attribute)))


def _json_of(before: str, unit: str, last: str, after: str) -> Callable[[int], bytes]:
    return lambda size: (before + unit * (size // len(unit)) + last + after).encode()


_JSON_SPAN = (
    f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{_TRACE.hex()}","spanId":"{_SPAN.hex()}",'
)
_JSON_LOG = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{'
_END = "}]}]}]}"
_VALUE = '"attributes":[{"key":"k","value":{'


def _json_span(before: str, unit: str, last: str, after: str) -> Callable[[int], bytes]:
    return _json_of(_JSON_SPAN + before, unit, last, after + _END)


def _packed(make: Callable[[int], bytes], pack: Callable[[bytes], bytes]) -> Callable[[int], bytes]:
    return lambda size: pack(make(size))


def _members_of_gzip(size: int) -> bytes:
    return gzip.compress(b"\x0a\x00" * (size // 4000), 9) * 2000


BOMBS: Mapping[str, Bomb] = {
    "empty resources": Bomb("traces", PROTOBUF, _many(b"\x0a\x00")),
    "empty resources of logs": Bomb("logs", PROTOBUF, _many(b"\x0a\x00")),
    "empty scopes": Bomb("traces", PROTOBUF, lambda size: delimited(1, b"\x12\x00" * (size // 2))),
    "scopes of one resource each": Bomb("traces", PROTOBUF, _many(b"\x0a\x02\x12\x00")),
    "empty spans": Bomb(
        "traces", PROTOBUF, lambda size: delimited(1, delimited(2, b"\x12\x00" * (size // 2)))
    ),
    "empty log records": Bomb(
        "logs", PROTOBUF, lambda size: delimited(1, delimited(2, b"\x12\x00" * (size // 2)))
    ),
    "empty attributes": Bomb("traces", PROTOBUF, _span(b"\x4a\x00")),
    "attributes with empty keys": Bomb("traces", PROTOBUF, _span(b"\x4a\x02\x0a\x00")),
    "attributes with empty values": Bomb("traces", PROTOBUF, _span(b"\x4a\x04\x0a\x00\x12\x00")),
    "attributes with long tags": Bomb("traces", PROTOBUF, _span(b"\xca\x80\x00\x00")),
    "empty events": Bomb("traces", PROTOBUF, _span(b"\x5a\x00")),
    "empty links": Bomb("traces", PROTOBUF, _span(b"\x6a\x00")),
    "attributes of an event": Bomb("traces", PROTOBUF, _within(11, unit=b"\x1a\x00")),
    "attributes of a link": Bomb("traces", PROTOBUF, _within(13, unit=b"\x22\x00")),
    "elements of a list": Bomb("traces", PROTOBUF, _within(9, 2, 5, unit=b"\x0a\x00")),
    "members of a map": Bomb("traces", PROTOBUF, _within(9, 2, 6, unit=b"\x0a\x00")),
    "maps in maps": Bomb("traces", PROTOBUF, _within(9, 2, 6, 1, 2, 6, unit=b"\x0a\x00")),
    "values nested deeply": Bomb("traces", PROTOBUF, _deep),
    "attributes of a resource": Bomb(
        "traces", PROTOBUF, lambda size: delimited(1, delimited(1, b"\x0a\x00" * (size // 2)))
    ),
    "entities of a resource": Bomb(
        "traces", PROTOBUF, lambda size: delimited(1, delimited(1, b"\x1a\x00" * (size // 2)))
    ),
    "attributes of a scope": Bomb(
        "traces", PROTOBUF, lambda size: delimited(1, delimited(2, delimited(1, b"\x1a\x00" * (size // 2))))
    ),
    "attributes of a log record": Bomb("logs", PROTOBUF, _log(b"\x32\x00")),
    "the body of a log record": Bomb("logs", PROTOBUF, _within(5, 6, unit=b"\x0a\x00", ids=_LOG_IDS)),
    "many spans, each full": Bomb("traces", PROTOBUF, _spread(b"\x4a\x00")),
    "many spans, each full of events": Bomb("traces", PROTOBUF, _spread(b"\x5a\x00")),
    "fields nobody knows": Bomb("traces", PROTOBUF, _many(b"\xf8\x01\x00")),
    "fields nobody knows in a span": Bomb("traces", PROTOBUF, _span(b"\xf8\x01\x00")),
    "wire groups": Bomb("traces", PROTOBUF, _many(b"\x0b\x0c")),
    "wire groups in a scope": Bomb(
        "traces", PROTOBUF, lambda size: delimited(1, delimited(2, b"\x0b\x0c" * (size // 2)))
    ),
    "wire groups, nested": Bomb(
        "traces", PROTOBUF, lambda size: b"\x0b" * (size // 2) + b"\x0c" * (size // 2)
    ),
    "wire groups in a span": Bomb("traces", PROTOBUF, _span(b"\xfb\x01\xfc\x01")),
    "JSON: empty resources": Bomb("traces", JSON, _json_of('{"resourceSpans":[', "{},", "{}", "]}")),
    "JSON: empty resources of logs": Bomb("logs", JSON, _json_of('{"resourceLogs":[', "{},", "{}", "]}")),
    "JSON: empty scopes": Bomb(
        "traces", JSON, _json_of('{"resourceSpans":[{"scopeSpans":[', "{},", "{}", "]}]}")
    ),
    "JSON: empty spans": Bomb(
        "traces", JSON, _json_of('{"resourceSpans":[{"scopeSpans":[{"spans":[', "{},", "{}", "]}]}]}")
    ),
    "JSON: empty attributes": Bomb("traces", JSON, _json_span('"attributes":[', "{},", "{}", "]")),
    "JSON: empty events": Bomb("traces", JSON, _json_span('"events":[', "{},", "{}", "]")),
    "JSON: elements of a list": Bomb(
        "traces", JSON, _json_span(_VALUE + '"arrayValue":{"values":[', "{},", "{}", "]}}}]")
    ),
    "JSON: attributes of a log record": Bomb(
        "logs", JSON, _json_of(_JSON_LOG + '"attributes":[', "{},", "{}", "]" + _END)
    ),
    "JSON: one name again and again": Bomb(
        "traces", JSON, _json_of("{", '"resourceSpans":[],', '"x":0', "}")
    ),
    "JSON: names nobody knows": Bomb("traces", JSON, _json_of('{"x":{', '"a":{},', '"b":1', "}}")),
    "JSON: lists in a list": Bomb("traces", JSON, _json_of('{"x":[', "[],", "[]", "]}")),
    "JSON: short texts": Bomb("traces", JSON, _json_of('{"x":[', '"ab",', '"ab"', "]}")),
    "JSON: small numbers": Bomb("traces", JSON, _json_of('{"x":[', "1.5,", "1", "]}")),
    "JSON: nested deeply": Bomb(
        "traces", JSON, lambda size: b'{"x":' + b"[" * (size // 2) + b"]" * (size // 2) + b"}"
    ),
    "JSON: objects nested deeply": Bomb("traces", JSON, _many(b'{"a":')),
    "JSON: nested deeply, with long texts": Bomb(
        "traces", JSON, lambda size: b"".join([b'["', b"x" * 200_000, b'",'] * (size // 200_000))
    ),
    "JSON: a long integer": Bomb("traces", JSON, _json_span('"kind":', "1", "1", "")),
    "JSON: a long fraction": Bomb("traces", JSON, _json_span('"kind":1.', "1", "1", "")),
    "JSON: a long exponent": Bomb("traces", JSON, _json_span('"kind":1e', "1", "1", "")),
    "JSON: a text that never ends": Bomb("traces", JSON, _json_of('{"x":"', "x", "x", "")),
    "JSON: a name that never ends": Bomb("traces", JSON, _json_of('{"', "x", "x", "")),
    "JSON: space": Bomb("traces", JSON, _many(b" ")),
    "gzip: empty attributes": Bomb(
        "traces", PROTOBUF, _packed(_span(b"\x4a\x00"), lambda body: gzip.compress(body, 6)), "gzip"
    ),
    "gzip: JSON, empty attributes": Bomb(
        "traces",
        JSON,
        _packed(_json_span('"attributes":[', "{},", "{}", "]"), lambda body: gzip.compress(body, 6)),
        "gzip",
    ),
    "gzip: empty resources in many members": Bomb("traces", PROTOBUF, _members_of_gzip, "gzip"),
    "deflate: empty events": Bomb("traces", PROTOBUF, _packed(_span(b"\x5a\x00"), zlib.compress), "deflate"),
}
"""What must not be taken as it is, by name."""

LARGE: Mapping[str, Bomb] = {
    "one text": Bomb("traces", PROTOBUF, lambda size: request(_IDS + delimited(5, b"x" * size))),
    "JSON: one text": Bomb("traces", JSON, _json_span('"name":"', "x", "x", '"')),
    "JSON: one text with an astral character": Bomb(
        "traces", JSON, _json_span('"name":"', "x", "\U0001f600", '"')
    ),
    "JSON: escapes": Bomb("traces", JSON, _json_span('"name":"', "\\n", "\\n", '"')),
    "JSON: escaped pairs": Bomb("traces", JSON, _json_span('"name":"', "\\ud83d\\ude00", "", '"')),
    "JSON: base64": Bomb("traces", JSON, _json_span(_VALUE + '"bytesValue":"', "YWJj", "", '"}}]')),
    "JSON: a text that is JSON": Bomb(
        "traces", JSON, _json_span('"name":"', '{\\"a\\":[1,2],\\"b\\":{}},', "", '"')
    ),
}
"""What is large and nothing else: it is kept."""
