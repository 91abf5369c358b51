"""Turns that several traces tell."""

from __future__ import annotations

import json

from bench.agents import set_attribute
from opentelemetry.proto.trace.v1.trace_pb2 import Span


def whole_of(spans: list[Span]) -> Span:
    """Return a span, in a trace of its own, that tells the whole turn of which others tell the parts."""
    root, first = spans[-1], spans[0]
    said = {
        pair.key: pair.value.string_value for span in (first, root) for pair in span.attributes
    }  # the root's last
    (given,), (answer,) = (json.loads(said[f"gen_ai.{side}.messages"]) for side in ("input", "output"))
    whole = Span(
        trace_id=bytes(range(16)),
        span_id=bytes(range(8)),
        name=root.name,
        kind=root.kind,
        start_time_unix_nano=root.start_time_unix_nano - 1,
        end_time_unix_nano=root.end_time_unix_nano + 1,
    )
    given, answer = (
        {"role": each["role"], "content": each["parts"][0]["content"]} for each in (given, answer)
    )
    set_attribute(whole, "gen_ai.operation.name", "invoke_agent")
    set_attribute(whole, "gen_ai.prompt", json.dumps({"messages": [given]}))
    set_attribute(whole, "gen_ai.completion", json.dumps([answer]))
    return whole
