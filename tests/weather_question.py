"""One conversation, to be told in the forms of many instrumentations: a question, a call of a tool, an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from made_spans import make_span
from recordings.record.pure_views import views_of_spans

from retrospan.ingest.interpret.spans.span import Span

SYSTEM, QUESTION, ANSWER = "You are Orla.", "Weather in Oslo?", "It is -3 in Oslo."
GIVEN: dict[str, object] = {"city": "Oslo"}
RETURNED: dict[str, object] = {"city": "Oslo", "temp_c": -3}
#: As OpenAI's chat completions have it.
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": json.dumps(GIVEN)},
}
ASKED: list[dict[str, Any]] = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": QUESTION},
]
CALLED: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOLD: list[dict[str, Any]] = [
    *ASKED,
    CALLED,
    {"role": "tool", "tool_call_id": "c1", "content": json.dumps(RETURNED)},
]
SAID: dict[str, Any] = {"role": "assistant", "content": ANSWER}


def model_span(attributes: dict[str, object], **others: Any) -> Span:
    """Return a span that says that it asked a model, and which."""
    return make_span(
        {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", **attributes}, "chat m-1", **others
    )


def tool_span() -> Span:
    return make_span(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.arguments": json.dumps(GIVEN),
            "gen_ai.tool.call.result": json.dumps(RETURNED),
        },
        "execute_tool get_weather",
    )


def in_traces(spans: Sequence[Span]) -> list[Span]:
    """Return spans each in a trace of its own."""
    return [replace(span, trace_id=f"{number:032x}") for number, span in enumerate(spans, 1)]


def require_whole(spans: Sequence[Span], *, call_id: str | None = "c1", tokens: bool = True) -> None:
    """Require that everything that was said comes back, in its roles, once."""
    views = views_of_spans(spans)
    (run,) = views.runs
    assert (run["input"], run["output"], run["outcome"]) == (QUESTION, ANSWER, "ok")
    if tokens:
        assert (run["input_tokens"], run["output_tokens"]) == (30, 6)
    first, last = views.model_calls
    assert first["request_model"] == last["request_model"] == "m-1"
    assert [SYSTEM in str(call["system_instructions"]) for call in views.model_calls] == [True, True]
    question = {"role": "user", "parts": [{"type": "text", "content": QUESTION}]}
    assert json.loads(first["input_messages"]) == [question]
    asked, called, told = json.loads(last["input_messages"])
    (answer,) = json.loads(first["output_messages"])
    (said,) = json.loads(last["output_messages"])
    assert asked == question
    for message in (called, answer):
        (part,) = message["parts"]
        assert (message["role"], part["type"]) == ("assistant", "tool_call")
        assert (part["name"], part["arguments"]) == ("get_weather", GIVEN)
    (result,) = told["parts"]
    assert (told["role"], result["response"]) == ("tool", RETURNED)
    assert said == {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}
    (tool,) = views.tool_calls
    assert (tool["tool_name"], json.loads(tool["arguments"])) == ("get_weather", GIVEN)
    assert (json.loads(tool["result"]), tool["status"], tool["tool_call_id"]) == (RETURNED, "ok", call_id)
