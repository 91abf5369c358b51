"""Requests that the engine refuses to read."""

from __future__ import annotations

from otlp_values import Span, sized, varint


def wrong_wire_type(number: int) -> bytes:
    """One span with a field that protobuf libraries skip and ClickHouse refuses: flags as text."""
    span = Span(trace_id=number.to_bytes(16, "big"), span_id=b"s" * 8, name=b"odd").encoded() + sized(
        16, b"text"
    )
    return sized(1, sized(2, sized(2, span)))


def unreadable() -> bytes:
    """No protobuf at all inside the span."""
    return sized(1, sized(2, sized(2, varint(0x7F) + b"\xff")))
