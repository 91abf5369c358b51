"""Older, printed, renamed and removed content in spans, as several families send it: what the general rules make of it."""

from __future__ import annotations

import json

import pytest
from made_spans import ASKS, CALL, event, make_span, text

from retrospan.ingest.interpret.run import read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span

_PRINTED_BLOCKS = (
    "{'assistant': [TextBlock(citations=None, text='Let me see.', type='text'), "
    "ToolUseBlock(id='c1', input={'city': 'Oslo'}, name='get_weather', type='tool_use')]}"
)
#: Name of the form → the span, and the fields of its reading that must come out.
_FORMS: dict[str, tuple[Span, dict[str, object]]] = {
    "openinference of several tool results": (
        make_span(
            {
                "openinference.span.kind": "LLM",
                "llm.input_messages.0.message.role": "function",
                "llm.input_messages.0.function.0": '{"name": "t", "content": "snow", "call_id": "c1", "is_error": true}',
            }
        ),
        {
            "input": [
                {
                    "role": "tool",
                    "parts": [
                        {"type": "tool_call_response", "id": "c1", "response": "snow", "is_error": True}
                    ],
                }
            ]
        },
    ),
    "all calls in one attribute under the number of their message": (
        make_span(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.completion.0.role": "assistant",
                "gen_ai.completion.0.content": "",
                "gen_ai.completion.0.tool_calls": '[{"id": "c1", "type": "function", "function": {"name": '
                '"get_weather", "arguments": {"city": "Oslo"}}}]',
            }
        ),
        {"output": [{"role": "assistant", "parts": [CALL]}]},
    ),
    "a call under a number of which no role is told": (
        make_span(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.prompt.0.tool_calls.0.id": "c1",
                "gen_ai.prompt.0.tool_calls.0.function.name": "get_weather",
                "gen_ai.prompt.0.tool_calls.0.function.arguments": '{"city": "Oslo"}',
            }
        ),
        {"input": [{"role": "assistant", "parts": [CALL]}]},
    ),
    "system instructions that an event tells beside a prompt in attributes": (
        make_span(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "Weather?",
            },
            events=[
                event("gen_ai.system.message", role="system", content="Be brief."),
                event("gen_ai.user.message", role="user", content="Weather?"),
            ],
        ),
        {"system": [{"type": "text", "content": "Be brief."}], "input": [text("user", "Weather?")]},
    ),
    "the calls of an answer under numbers of their own": (
        make_span(
            {
                "gen_ai.operation.name": "chat",
                "acme.llm.input_messages.0.role": "user",
                "acme.llm.input_messages.0.content": "Weather?",
                "acme.llm.output_messages.0.role": "assistant",
                "acme.llm.tool_calls.0.id": "c1",
                "acme.llm.tool_calls.0.name": "get_weather",
                "acme.llm.tool_calls.0.arguments": '{"city": "Oslo"}',
                "acme.request.tool_calls.0.id": "c2",
                "acme.request.tool_calls.0.name": "get_weather",
                "acme.request.tool_calls.0.arguments": "{}",
            }
        ),
        {"input": [text("user", "Weather?")], "output": [{"role": "assistant", "parts": [CALL]}]},
    ),
    "an empty result among what a user says": (
        make_span(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.prompt.0.role": "assistant",
                "gen_ai.prompt.0.tool_calls.0.id": "c1",
                "gen_ai.prompt.0.tool_calls.0.name": "get_weather",
                "gen_ai.prompt.0.tool_calls.0.arguments": '{"city": "Oslo"}',
                "gen_ai.prompt.1.role": "user",
                "gen_ai.prompt.1.tool_call_id": "c1",
                "gen_ai.prompt.1.content": "[]",
                "gen_ai.prompt.2.role": "user",
                "gen_ai.prompt.2.tool_call_id": "c9",
                "gen_ai.prompt.2.content": "[]",
            }
        ),
        {
            "input": [
                {"role": "assistant", "parts": [CALL]},
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": []}]},
            ]
        },
    ),
    "instructions among the parameters of a request": (
        make_span(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.prompts": '"Be kind."',
                "gen_ai.request.parameters": '{"model": "m-4", "max_tokens": 9, "system": "Be kind."}',
                "gen_ai.input.messages": json.dumps(
                    [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]
                ),
            }
        ),
        {
            "system": [{"type": "text", "content": "Be kind."}],
            "input": [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}],
        },
    ),
    "messages under their speakers of which Python printed some": (
        make_span(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": [
                    '{"system": "Be kind."}',
                    '{"user": "Hi"}',
                    _PRINTED_BLOCKS,
                    '{"user": [{"type": "tool_result", "tool_use_id": "c1", "content": "snow"}]}',
                ],
            }
        ),
        {
            "system": [{"type": "text", "content": "Be kind."}],
            "input": [
                {"role": "user", "parts": [{"type": "text", "content": "Hi"}]},
                {"role": "assistant", "parts": [{"type": "text", "content": "Let me see."}, CALL]},
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "snow"}]},
            ],
        },
    ),
    "a user who quotes what Python printed": (
        make_span(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": ["""{'assistant': 'Yes.'}""", "What is this?"],
            }
        ),
        {
            "input": [
                {"role": "user", "parts": [{"type": "text", "content": """{'assistant': 'Yes.'}"""}]},
                {"role": "user", "parts": [{"type": "text", "content": "What is this?"}]},
            ]
        },
    ),
    "an end of an answer in an event beside its tokens": (
        make_span(
            {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-4"},
            events=[event("metadata", prompt_tokens=7, completion_tokens=3, finish_reason="tool_calls")],
        ),
        {"finish_reasons": ["tool_calls"]},
    ),
    "a request parameter beside what it came to": (
        make_span(
            {
                "gen_ai.operation.name": "chat",
                "model": '"m-4"',
                "gen_ai.request.model": "m-4-2026-01-01",
                "gen_ai.response.model": "m-4-2026-01-01",
            }
        ),
        {"request_model": "m-4", "response_model": "m-4-2026-01-01"},
    ),
    "dspy calls printed by Python": (
        make_span(
            {
                "openinference.span.kind": "LLM",
                "output.value": json.dumps(
                    [
                        {
                            "text": "Let me see.",
                            "tool_calls": [
                                """Call(function=F(arguments='{"city": "Oslo"}', name='get_weather'), id='c1')"""
                            ],
                        }
                    ]
                ),
            }
        ),
        {
            "output": [
                {"role": "assistant", "parts": [{"type": "text", "content": "Let me see."}, CALL]},
            ]
        },
    ),
    "openinference completion": (
        make_span(
            {
                "openinference.span.kind": "LLM",
                "llm.prompts.0.prompt.text": "Hi",
                "llm.choices.0.completion.text": "Ho",
            }
        ),
        {"input": [text("user", "Hi")], "output": [text("assistant", "Ho")]},
    ),
    "openinference function call": (
        make_span(
            {
                "openinference.span.kind": "LLM",
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.function_call_name": "get_weather",
                "llm.output_messages.0.message.function_call_arguments_json": '{"city": "Oslo"}',
            }
        ),
        {
            "output": [
                {
                    "role": "assistant",
                    "parts": [{"type": "tool_call", "name": "get_weather", "arguments": {"city": "Oslo"}}],
                }
            ]
        },
    ),
    "openllmetry before the conventions": (
        make_span(
            {
                "llm.request.type": "chat",
                "gen_ai.system": "Cohere",
                "gen_ai.request.model": "m",
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "Weather?",
                "gen_ai.completion.0.role": "assistant",
                "gen_ai.completion.0.tool_calls.0.id": "c1",
                "gen_ai.completion.0.tool_calls.0.name": "get_weather",
                "gen_ai.completion.0.tool_calls.0.arguments": '{"city": "Oslo"}',
                "llm.request.functions.0.name": "get_weather",
                "llm.request.functions.0.parameters": '{"type": "object"}',
                "gen_ai.usage.prompt_tokens": 7,
                "gen_ai.usage.completion_tokens": 2,
            }
        ),
        {
            "operation": "inference",
            "input": [text("user", "Weather?")],
            "output": [ASKS],
            "tool_definitions": [{"name": "get_weather", "parameters": '{"type": "object"}'}],
            "tokens": (7, 2),
        },
    ),
    "vercel tool that failed": (
        make_span(
            {
                "ai.operationId": "ai.generateText.doGenerate",
                "ai.prompt.messages": json.dumps(
                    [
                        {
                            "role": "tool",
                            "content": [
                                {
                                    "type": "tool-result",
                                    "toolCallId": "c1",
                                    "toolName": "get_weather",
                                    "output": {"type": "error-text", "value": "no"},
                                }
                            ],
                        }
                    ]
                ),
            }
        ),
        {
            "input": [
                {
                    "role": "tool",
                    "parts": [{"type": "tool_call_response", "id": "c1", "response": "no", "is_error": True}],
                }
            ]
        },
    ),
    "a model that the instrumentation does not know": (
        make_span(
            {"gen_ai.operation.name": "chat", "gen_ai.request.model": "unknown", "llm.model_name": "m-1"},
        ),
        {"request_model": "m-1"},
    ),
    "a model for which a word stands that means none": (
        make_span({"gen_ai.operation.name": "chat", "gen_ai.request.model": "unknown_model"}),
        {"request_model": None},
    ),
    "what was taken out": (
        make_span(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.call.arguments": "<REDACTED>",
                "gen_ai.tool.call.result": "__REDACTED__",
            }
        ),
        {"has_arguments": False, "has_result": False},
    ),
    "an agent that is only made": (
        make_span({"gen_ai.operation.name": "create_agent"}),
        {"operation": "other"},
    ),
    "a graph that is only put together": (
        make_span(
            {"openinference.span.kind": "CHAIN", "workflow.definition": '{"name": "desk"}'}, "workflow.build"
        ),
        {"operation": "other"},
    ),
    "a chain called like that which was given something": (
        make_span({"openinference.span.kind": "CHAIN", "input.value": "Which parts?"}, "order.build"),
        {"operation": "workflow"},
    ),
    "a type of something else": (
        make_span({"gen_ai.output.type": "tool", "db.type": "model", "content.type": "agent"}),
        {"operation": "other"},
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
