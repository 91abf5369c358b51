"""A small run made up for a test of one rule: an agent and its acts by the conventions, and the rows they become.

Times are seconds after the agent began; an act takes one second where nothing else is said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from spans import read_run

from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.span import Event, Span

RUN = "ab" * 16
SECOND = 10**9
_NUMBERS = count(256)  # below are those that tests give


def act(
    operation: str, at: float, *, takes: float = 1, error: str = "", inside: str = "", **more: Any
) -> Span:
    """Return a span of an operation ('' for none); `__` in the name of an attribute stands for a point."""
    fields: dict[str, Any] = {
        key: more.pop(key) for key in ("span_id", "name", "status", "parent_span_id", "links") if key in more
    }
    began = int((1_000 + at) * SECOND)
    own = {"gen_ai.operation.name": operation} if operation else {}
    made: dict[str, Any] = {
        "trace_id": RUN,
        "span_id": f"{next(_NUMBERS):016x}",
        "parent_span_id": inside or f"{1:016x}",
        "name": operation or "GET",
        "kind": 1,
        "flags": 0,
        "started_at": began,
        "ended_at": began + int(takes * SECOND) if takes >= 0 else 0,
        "status": "error" if error else "unset",
        "status_message": "",
        "scope": "test",
        "scope_version": "",
        "attributes": {
            **own,
            **({"error.type": error} if error else {}),
            **{key.replace("__", "."): value for key, value in more.items()},
        },
        "resource": {},
        "events": [Event(name="exception", time_ns=began, attributes={"exception.type": error})]
        if error
        else [],
    }
    made.update(fields)
    return Span(**made)


def agent(*, takes: float = 100, error: str = "", **more: Any) -> Span:
    """Return the root: one agent, around all acts."""
    root: dict[str, Any] = {"span_id": f"{1:016x}", "parent_span_id": "", "gen_ai__agent__name": "orla"}
    return act("invoke_agent", 0, takes=takes, error=error, **{**root, **more})


def asks(name: str, arguments: object = None, call_id: str | None = None) -> dict[str, object]:
    """Return the part of an answer that asks for a tool."""
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def said(role: str, *parts: str | Mapping[str, object]) -> dict[str, object]:
    """Return a message; a string is a part of text."""
    texts = [{"type": "text", "content": part} if isinstance(part, str) else part for part in parts]
    return {"role": role, "parts": texts}


def returned(call_id: str | None, response: object) -> dict[str, object]:
    """Return the message that tells a model the result of a tool."""
    return said("tool", {"type": "tool_call_response", "id": call_id, "response": response})


def chat(
    at: float, given: Sequence[Mapping[str, object]] = (), *answer: str | Mapping[str, object], **more: Any
) -> Span:
    """Return a model call that was given messages and answered with one of these parts."""
    if given:
        more["gen_ai__input__messages"] = json.dumps(given)
    if answer:
        more["gen_ai__output__messages"] = json.dumps([said("assistant", *answer)])
    return act("chat", at, **{"gen_ai__agent__name": "orla", **more})


def tool(
    at: float, name: str = "search", arguments: object = None, result: object = None, **more: Any
) -> Span:
    """Return the execution of a tool; what is None is not said."""
    if arguments is not None:
        more["gen_ai__tool__call__arguments"] = json.dumps(arguments)
    if result is not None:
        more["gen_ai__tool__call__result"] = json.dumps(result)
    return act("execute_tool", at, **{"gen_ai__tool__name": name, "gen_ai__agent__name": "orla", **more})


def rows(*spans: Span, previous: Sequence[Message] | None = None) -> Rows:
    """Return the canonical rows of the run."""
    return rows_of(read_run(RUN, spans, previous), "default", 1, None)
