"""A run that is nothing but what a gateway answered is listed: its caller may tell the same requests in another run."""

from __future__ import annotations

from typing import Any

import pytest
from doubted import ASKED, SNOW, doubts
from made_runs import act, agent, chat, tool

from retrospan.ingest.interpret.spans.span import Span

LISTED = [
    ("model_calls", "a server answered this request to a model: its caller may tell the same in another run")
]


def served(path: str, *, kind: int = 2, **more: Any) -> Span:
    span = act("", 0, takes=9, span_id=f"{1:016x}", parent_span_id="", name=f"POST {path}", **more)
    span.kind = kind
    return span


@pytest.mark.parametrize(
    "path",
    [
        "/v1/chat/completions",
        "/openai/deployments/gpt-4o-mini/chat/completions",
        "/v1/responses",
        "/anthropic/v1/messages",
        "/v1beta/models/gemini-2.5-flash:generateContent",
        "/model/amazon.nova-lite-v1:0/converse",
    ],
)
def test_a_server_that_answers_as_a_model_does_is_listed(path: str) -> None:
    call = chat(1, [ASKED], SNOW)
    call.attributes = {name: value for name, value in call.attributes.items() if name != "gen_ai.agent.name"}
    assert doubts(served(path), call) == LISTED
    assert doubts(served("", url__path=path), call) == LISTED


def test_others_are_not() -> None:
    path, call = "/v1/chat/completions", chat(1, [ASKED], SNOW)
    for other in ("/chat", "/api/chat", "/messages", "/v1/models"):
        assert doubts(served(other), call) == []
    assert doubts(served(path, kind=3), call) == [], "that is the caller"
    inner = agent(takes=8, span_id=f"{9:016x}", parent_span_id=f"{1:016x}")
    assert doubts(served(path), inner, call) == [], "an agent that is asked as a model is"
    ran = tool(2, "weather", {"city": "Oslo"}, "snow")
    assert LISTED[0] not in doubts(served(path), call, ran)
