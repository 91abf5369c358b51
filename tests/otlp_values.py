"""OTLP messages written by hand on the wire, from plain values: so that tests can send what no library would.

An attribute's value is a `Value`: the kind and what it holds. Its encoding shares no code with the product.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field

Attribute = tuple[bytes, "Value"]


@dataclass(frozen=True)
class Value:
    """kind: unset, string, bool, int, double, bytes, array (of Value), kvlist (of (bytes, Value))."""

    kind: str
    holds: object = None

    def encoded(self) -> bytes:
        """The bytes of an AnyValue, written from the inside out without recursion."""
        done: dict[int, bytes] = {}
        waiting: list[tuple[Value, bool]] = [(self, False)]
        while waiting:
            value, ready = waiting.pop()
            if id(value) in done:
                continue
            children = value.children()
            if children and not ready:
                waiting.append((value, True))
                waiting += [(child, False) for child in children]
            else:
                done[id(value)] = value._encoded_with(done)
        return done[id(self)]

    def children(self) -> list[Value]:
        if self.kind == "array":
            return list(self.elements())
        if self.kind == "kvlist":
            return [value for _, value in self.members()]
        return []

    def elements(self) -> list[Value]:
        assert isinstance(self.holds, list)
        return self.holds

    def members(self) -> list[Attribute]:
        assert isinstance(self.holds, list)
        return self.holds

    def _encoded_with(self, done: dict[int, bytes]) -> bytes:
        match self.kind, self.holds:
            case "string", bytes(data):
                return sized(1, data)
            case "bool", bool(flag):
                return tag(2, 0) + varint(flag)
            case "int", int(number):
                return tag(3, 0) + varint(number)
            case "double", float(number):
                return tag(4, 1) + struct.pack("<d", number)
            case "bytes", bytes(data):
                return sized(7, data)
            case "array", _:
                return sized(5, b"".join(sized(1, done[id(element)]) for element in self.elements()))
            case "kvlist", _:
                pairs = (sized(1, key) + sized(2, done[id(value)]) for key, value in self.members())
                return sized(6, b"".join(sized(1, pair) for pair in pairs))
            case _:
                return b""

    def plain(self) -> object:
        """What `value_of` should give for it, with the type beside each scalar so that 1, 1.0 and True differ."""
        match self.kind, self.holds:
            case "array", _:
                return [element.plain() for element in self.elements()]
            case "kvlist", _:
                return {text(key): value.plain() for key, value in self.members()}
            case "string", bytes(data):
                return typed(text(data))
            case _:
                return typed(self.holds)


def typed(value: object) -> object:
    """A value as `Value.plain` gives it."""
    if isinstance(value, list):
        return [typed(element) for element in value]
    if isinstance(value, dict):
        return {key: typed(element) for key, element in value.items()}
    if isinstance(value, float):
        # All NaN are one; -0.0 is not 0.0.
        return ("float", "nan" if math.isnan(value) else repr(value))
    return (type(value).__name__, value)


def text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, kw_only=True)
class Event:
    time_ns: int = 0
    name: bytes = b""
    attributes: list[Attribute] = field(default_factory=list)
    dropped: int = 0

    def encoded(self) -> bytes:
        return (
            fixed64(1, self.time_ns)
            + sized(2, self.name)
            + attributes(3, self.attributes)
            + number(4, self.dropped)
        )


@dataclass(frozen=True, kw_only=True)
class Link:
    trace_id: bytes = b""
    span_id: bytes = b""
    trace_state: bytes = b""
    flags: int = 0
    attributes: list[Attribute] = field(default_factory=list)
    dropped: int = 0

    def encoded(self) -> bytes:
        return (
            sized(1, self.trace_id)
            + sized(2, self.span_id)
            + sized(3, self.trace_state)
            + attributes(4, self.attributes)
            + number(5, self.dropped)
            + fixed32(6, self.flags)
        )


@dataclass(frozen=True, kw_only=True)
class Span:
    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes = b""
    trace_state: bytes = b""
    flags: int = 0
    name: bytes = b""
    kind: int = 0
    started_ns: int = 0
    ended_ns: int = 0
    status_code: int = 0
    status_message: bytes = b""
    attributes: list[Attribute] = field(default_factory=list)
    dropped_attributes: int = 0
    events: list[Event] = field(default_factory=list)
    dropped_events: int = 0
    links: list[Link] = field(default_factory=list)
    dropped_links: int = 0

    def encoded(self) -> bytes:
        return (
            sized(1, self.trace_id)
            + sized(2, self.span_id)
            + sized(3, self.trace_state)
            + sized(4, self.parent_span_id)
            + sized(5, self.name)
            + number(6, self.kind)
            + fixed64(7, self.started_ns)
            + fixed64(8, self.ended_ns)
            + attributes(9, self.attributes)
            + number(10, self.dropped_attributes)
            + b"".join(sized(11, event.encoded()) for event in self.events)
            + number(12, self.dropped_events)
            + b"".join(sized(13, link.encoded()) for link in self.links)
            + number(14, self.dropped_links)
            + sized(15, sized(2, self.status_message) + number(3, self.status_code))
            + fixed32(16, self.flags)
        )


@dataclass(frozen=True, kw_only=True)
class Log:
    trace_id: bytes = b""
    span_id: bytes = b""
    time_ns: int = 0
    observed_ns: int = 0
    severity_number: int = 0
    severity_text: bytes = b""
    event_name: bytes = b""
    body: Value = field(default_factory=lambda: Value("unset"))
    attributes: list[Attribute] = field(default_factory=list)
    dropped_attributes: int = 0
    flags: int = 0

    def encoded(self) -> bytes:
        return (
            fixed64(1, self.time_ns)
            + number(2, self.severity_number)
            + sized(3, self.severity_text)
            + sized(5, self.body.encoded())
            + attributes(6, self.attributes)
            + number(7, self.dropped_attributes)
            + fixed32(8, self.flags)
            + sized(9, self.trace_id)
            + sized(10, self.span_id)
            + fixed64(11, self.observed_ns)
            + sized(12, self.event_name)
        )


@dataclass(frozen=True, kw_only=True)
class Origin:
    """A resource and a scope."""

    resource_attributes: list[Attribute] = field(default_factory=list)
    resource_dropped: int = 0
    resource_schema_url: bytes = b""
    scope_name: bytes = b""
    scope_version: bytes = b""
    scope_attributes: list[Attribute] = field(default_factory=list)
    scope_dropped: int = 0
    scope_schema_url: bytes = b""


def request(origin: Origin, members: list[Span] | list[Log]) -> bytes:
    """An ExportTraceServiceRequest or ExportLogsServiceRequest: the two have the same shape on the wire."""
    scope = (
        sized(1, origin.scope_name)
        + sized(2, origin.scope_version)
        + attributes(3, origin.scope_attributes)
        + number(4, origin.scope_dropped)
    )
    resource = attributes(1, origin.resource_attributes) + number(2, origin.resource_dropped)
    group = (
        sized(1, scope)
        + b"".join(sized(2, member.encoded()) for member in members)
        + sized(3, origin.scope_schema_url)
    )
    return sized(1, sized(1, resource) + sized(2, group) + sized(3, origin.resource_schema_url))


def attributes(field_number: int, items: list[Attribute]) -> bytes:
    return b"".join(sized(field_number, sized(1, key) + sized(2, value.encoded())) for key, value in items)


def tag(field_number: int, wire: int) -> bytes:
    return varint(field_number << 3 | wire)


def sized(field_number: int, content: bytes) -> bytes:
    return tag(field_number, 2) + varint(len(content)) + content


def number(field_number: int, value: int) -> bytes:
    return tag(field_number, 0) + varint(value)


def fixed64(field_number: int, value: int) -> bytes:
    return tag(field_number, 1) + struct.pack("<Q", value)


def fixed32(field_number: int, value: int) -> bytes:
    return tag(field_number, 5) + struct.pack("<I", value)


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
