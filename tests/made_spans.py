"""Spans made up for a test of the pure core, and the messages that stand in them."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from retrospan.ingest.interpret.spans.span import Event, LogRecord, Span

_NUMBERS = count(1)


def make_span(attributes: dict[str, object], name: str = "span", **others: Any) -> Span:
    """Return a span; times are whole seconds, the later made the later."""
    number = next(_NUMBERS)
    given: dict[str, Any] = {
        "trace_id": "a" * 32,
        "span_id": f"{number:016x}",
        "parent_span_id": "",
        "name": name,
        "kind": 1,
        "flags": 0,
        "started_at": number * 10**9,
        "ended_at": number * 10**9 + 10**8,
        "status": "unset",
        "status_message": "",
        "scope": "some.framework",
        "scope_version": "",
        "attributes": attributes,
        "resource": {},
    }
    return Span(**{**given, **others})


def event(name: str, at: int = 1, **attributes: object) -> Event:
    """Return an event; `__` in a name stands for a point."""
    return Event(name=name, time_ns=at, attributes={k.replace("__", "."): v for k, v in attributes.items()})


def log(name: str, body: object, at: int = 1) -> LogRecord:
    """Return a log record beside its span."""
    return LogRecord(event=name, time_ns=at, body=body, attributes={}, order=(at, at, ""))


def text(role: str, text: str) -> dict[str, object]:
    """Return a message of one text, in the form that canonical messages have."""
    return {"role": role, "parts": [{"type": "text", "content": text}]}


CALL: dict[str, object] = {
    "type": "tool_call",
    "id": "c1",
    "name": "get_weather",
    "arguments": {"city": "Oslo"},
}
ASKS: dict[str, object] = {"role": "assistant", "parts": [CALL]}
CHAT = {
    "id": "c1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
}
HI = [{"role": "user", "content": "Hi"}]


def chat_span(given: list[dict[str, object]], answer: list[dict[str, object]], **others: Any) -> Span:
    """Return the span of a model call by the conventions."""
    return make_span(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(given),
            **({"gen_ai.output.messages": json.dumps(answer)} if answer else {}),
        },
        **others,
    )


QUESTION = text("user", "Weather?")
RESULT: dict[str, object] = {
    "role": "tool",
    "parts": [{"type": "tool_call_response", "id": "c1", "response": {"sky": "snow"}}],
}
