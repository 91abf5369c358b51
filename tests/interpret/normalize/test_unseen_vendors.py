"""Spans of products that no recording here holds: names of their own for usual things, read by the general rules."""

from __future__ import annotations

import json

import pytest
from made_spans import ASKS, CHAT, HI, event, log, make_span, text

from retrospan.ingest.interpret.run import read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span

#: Name of the form → the span, and the fields of its reading that must come out.
_FORMS: dict[str, tuple[Span, dict[str, object]]] = {
    "langfuse generation": (
        make_span(
            {
                "langfuse.observation.type": "generation",
                "langfuse.observation.input": json.dumps(HI),
                "langfuse.observation.output": '{"role": "assistant", "content": "Ho"}',
                "langfuse.observation.model.name": "m-1",
                "langfuse.observation.usage_details": '{"input": 7, "output": 2, "total": 9}',
                "session.id": "s1",
            }
        ),
        {
            "operation": "inference",
            "input": [text("user", "Hi")],
            "output": [text("assistant", "Ho")],
            "request_model": "m-1",
            "conversation": "s1",
            "tokens": (7, 2),
        },
    ),
    "langfuse tool that failed": (
        make_span(
            {
                "langfuse.observation.type": "tool",
                "langfuse.observation.input": '{"city": "Oslo"}',
                "langfuse.observation.output": '{"sky": "snow"}',
                "langfuse.observation.level": "ERROR",
            },
            "get_weather",
        ),
        {
            "operation": "tool",
            "tool_name": "get_weather",
            "arguments": {"city": "Oslo"},
            "result": {"sky": "snow"},
            "failed": True,
        },
    ),
    "laminar tool": (
        make_span(
            {
                "lmnr.span.type": "TOOL",
                "lmnr.span.input": '{"city": "Oslo"}',
                "lmnr.span.output": '{"sky": "snow"}',
                "lmnr.association.properties.session_id": "s1",
            },
            "get_weather",
        ),
        {
            "operation": "tool",
            "arguments": {"city": "Oslo"},
            "result": {"sky": "snow"},
            "conversation": "s1",
        },
    ),
    "genkit model": (
        make_span(
            {
                "genkit:type": "action",
                "genkit:metadata:subtype": "model",
                "genkit:name": "vendor/m-1",
                "genkit:input": json.dumps(
                    {
                        "messages": [
                            {"role": "user", "content": [{"text": "Weather?"}]},
                            {
                                "role": "model",
                                "content": [
                                    {
                                        "toolRequest": {
                                            "name": "get_weather",
                                            "ref": "c1",
                                            "input": {"city": "Oslo"},
                                        }
                                    }
                                ],
                            },
                            {
                                "role": "tool",
                                "content": [
                                    {
                                        "toolResponse": {
                                            "name": "get_weather",
                                            "ref": "c1",
                                            "output": {"sky": "snow"},
                                        }
                                    }
                                ],
                            },
                        ]
                    }
                ),
                "genkit:output": json.dumps(
                    {
                        "message": {"role": "model", "content": [{"text": "Snow."}]},
                        "usage": {"inputTokens": 9, "outputTokens": 3},
                    }
                ),
            }
        ),
        {
            "operation": "inference",
            "input": [
                text("user", "Weather?"),
                ASKS,
                {
                    "role": "tool",
                    "parts": [{"type": "tool_call_response", "id": "c1", "response": {"sky": "snow"}}],
                },
            ],
            "output": [text("assistant", "Snow.")],
            "tokens": (9, 3),
        },
    ),
    "genkit tool": (
        make_span(
            {
                "genkit:type": "action",
                "genkit:metadata:subtype": "tool",
                "genkit:name": "get_weather",
                "genkit:input": '{"city": "Oslo"}',
                "genkit:output": '{"sky": "snow"}',
            }
        ),
        {
            "operation": "tool",
            "tool_name": "get_weather",
            "arguments": {"city": "Oslo"},
            "result": {"sky": "snow"},
        },
    ),
    "spring ai chat": (
        make_span(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.system": "openai",
                "gen_ai.request.model": "m",
                "gen_ai.response.model": "m-1",
                "gen_ai.usage.input_tokens": 5,
                "gen_ai.usage.output_tokens": 2,
            },
            events=[
                event("gen_ai.content.prompt", gen_ai__prompt="Hi"),
                event("gen_ai.content.completion", 2, gen_ai__completion="Ho"),
            ],
        ),
        {
            "operation": "inference",
            "input": [text("user", "Hi")],
            "output": [text("assistant", "Ho")],
            "response_model": "m-1",
            "tokens": (5, 2),
        },
    ),
    "spring ai tool": (
        make_span(
            {
                "spring.ai.kind": "tool_call",
                "spring.ai.tool.definition.name": "get_weather",
                "spring.ai.tool.call.arguments": '{"city": "Oslo"}',
                "spring.ai.tool.call.result": '{"sky": "snow"}',
            }
        ),
        {
            "operation": "tool",
            "tool_name": "get_weather",
            "arguments": {"city": "Oslo"},
            "result": {"sky": "snow"},
        },
    ),
    "azure ai inference": (
        make_span(
            {"gen_ai.operation.name": "chat", "gen_ai.system": "az.ai.inference", "gen_ai.thread.id": "t1"},
            events=[
                event(
                    "gen_ai.user.message", gen_ai__event__content='{"role": "user", "content": "Weather?"}'
                ),
                event(
                    "gen_ai.choice",
                    2,
                    gen_ai__event__content=json.dumps(
                        {"finish_reason": "tool_calls", "index": 0, "message": {"tool_calls": [CHAT]}}
                    ),
                ),
            ],
        ),
        {"input": [text("user", "Weather?")], "output": [ASKS], "conversation": "t1"},
    ),
    "bedrock agentcore log": (
        make_span(
            {"gen_ai.operation.name": "chat"},
            logs=[
                log(
                    "some.scope",
                    {
                        "input": {"messages": HI},
                        "output": {"messages": [{"role": "assistant", "content": "Ho"}]},
                    },
                )
            ],
        ),
        {"input": [text("user", "Hi")], "output": [text("assistant", "Ho")]},
    ),
    "claude code request": (
        make_span(
            {
                "span.type": "llm_request",
                "model": "m-1",
                "input_tokens": 3,
                "output_tokens": 2,
                "cache_read_tokens": 10,
                "cache_creation_tokens": 4,
                "session.id": "s1",
            }
        ),
        {"operation": "inference", "request_model": "m-1", "tokens": (17, 2), "conversation": "s1"},
    ),
    "claude code tool": (
        make_span(
            {
                "span.type": "tool",
                "tool_name": "Bash",
                "tool_use_id": "c1",
                "tool_input": '{"command": "ls"}',
            }
        ),
        {
            "operation": "tool",
            "tool_name": "Bash",
            "tool_call_id": "c1",
            "arguments": {"command": "ls"},
        },
    ),
    "agentops tool": (
        make_span(
            {
                "agentops.span.kind": "tool",
                "agentops.entity.input": '{"args": [], "kwargs": {"city": "Oslo"}}',
                "agentops.entity.output": '{"sky": "snow"}',
            },
            "get_weather",
        ),
        {"operation": "tool", "arguments": {"city": "Oslo"}, "result": {"sky": "snow"}},
    ),
    "mastra tool": (
        make_span(
            {
                "mastra.span.type": "mcp_tool_call",
                "mastra.mcp_tool_call.input": '{"city": "Oslo"}',
                "mastra.mcp_tool_call.output": '{"sky": "snow"}',
            },
            "get_weather",
        ),
        {"operation": "tool", "arguments": {"city": "Oslo"}, "result": {"sky": "snow"}},
    ),
    "loongsuite agent": (
        make_span({"gen_ai.span.kind": "AGENT", "gen_ai.agent.name": "orla", "gen_ai.session.id": "s1"}),
        {"operation": "agent", "agent_name": "orla", "conversation": "s1"},
    ),
    "openlit tool": (
        make_span(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "get_weather",
                "gen_ai.tool.args": '{"city": "Oslo"}',
                "gen_ai.output.messages": '{"sky": "snow"}',
            }
        ),
        {"arguments": {"city": "Oslo"}, "result": {"sky": "snow"}},
    ),
}


@pytest.mark.parametrize("form", _FORMS)
def test_the_form_is_read(form: str) -> None:
    span, wanted = _FORMS[form]
    (normalized,) = read_spans([span], ParseIssues())
    found = {name: getattr(normalized, name) for name in wanted}
    if "tokens" in wanted:
        found["tokens"] = (normalized.tokens.input, normalized.tokens.output)
    assert found == wanted
