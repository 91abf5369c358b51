"""The general rules on spans of frameworks that nobody here has seen."""

from __future__ import annotations

import json

import pytest

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.run import read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Attributes, Event, LogRecord, Span


def _read(attributes: Attributes, name: str = "span", **others: object) -> NormalizedSpan:
    span = Span(
        trace_id="a" * 32,
        span_id="b" * 16,
        parent_span_id="",
        name=name,
        kind=1,
        flags=0,
        started_at=1,
        ended_at=2,
        status="ok",
        status_message="",
        scope="some.framework",
        scope_version="",
        attributes=attributes,
        resource={},
        **others,  # type: ignore[arg-type]
    )
    (normalized,) = read_spans([span], ParseIssues())
    return normalized


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("chat", "inference"),
        ("chat.completions", "inference"),
        ("text.streaming_completions", "inference"),
        ("text_embedding", "embedding"),
        ("execute_tool", "tool"),
        ("defrost", "other"),
    ],
)
def test_operations_are_known_by_their_words(name: str, operation: str) -> None:
    assert _read({"gen_ai.operation.name": name}).operation == operation


def test_a_span_that_only_announces_another_is_none() -> None:
    pending = {"gen_ai.operation.name": "chat", "logfire.span_type": "pending_span"}
    assert _read(pending).operation == "other"


def test_printed_messages_are_read() -> None:
    normalized = _read(
        {
            "openinference.span.kind": "LLM",
            "input.value": json.dumps(
                {
                    "messages": [
                        "ChatMessage(_role=<ChatRole.SYSTEM: 'system'>, _content=[TextContent(text='Be brief')], _name=None, _meta={})",
                        "ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='Weather?')], _name=None, _meta={})",
                    ]
                }
            ),
            "output.value": json.dumps(
                {
                    "replies": [
                        "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[ToolCall(tool_name='get_weather', arguments={'city': 'Oslo'}, id='c1')], _name=None, _meta={'model': 'm-1'})"
                    ]
                }
            ),
        }
    )
    assert normalized.system == [{"type": "text", "content": "Be brief"}]
    assert normalized.input == [{"role": "user", "parts": [{"type": "text", "content": "Weather?"}]}]
    assert normalized.output == [
        {
            "role": "assistant",
            "parts": [
                {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}
            ],
        }
    ]


def test_messages_in_log_lines_are_read() -> None:
    def line(event: str, at: int, body: object) -> LogRecord:
        return LogRecord(event=event, time_ns=at, body=json.dumps(body), attributes={}, order=(at, at, ""))

    normalized = _read(
        {"gen_ai.operation.name": "chat.completions"},
        logs=[
            line(
                "gen_ai.choice",
                3,
                {"message": {"role": "assistant", "content": "Snow."}, "finish_reason": "stop"},
            ),
            line("gen_ai.system.message", 1, {"role": "system", "content": "Be brief"}),
            line("gen_ai.user.message", 2, {"role": "user", "content": "Weather?"}),
        ],
    )
    assert [message["role"] for message in normalized.input] == ["user"]
    assert normalized.system == [{"type": "text", "content": "Be brief"}]
    assert normalized.output == [{"role": "assistant", "parts": [{"type": "text", "content": "Snow."}]}]


def test_whole_requests_and_responses_are_opened() -> None:
    normalized = _read(
        {
            "gen_ai.operation.name": "chat",
            "request_data": json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}),
            "response_data": json.dumps(
                {
                    "model": "m-2026",
                    "choices": [{"message": {"role": "assistant", "content": "Ho"}}],
                    "usage": {"prompt_tokens": 3, "completion_tokens": 1},
                }
            ),
        }
    )
    assert (normalized.request_model, normalized.response_model) == ("m", "m-2026")
    assert (normalized.tokens.input, normalized.tokens.output) == (3, 1)
    assert normalized.output == [{"role": "assistant", "parts": [{"type": "text", "content": "Ho"}]}]


@pytest.mark.parametrize(
    "wrapped", ['{"city": "Oslo"}', "{'city': 'Oslo'}", '{"args": [], "kwargs": {"city": "Oslo"}}']
)
def test_arguments_are_opened(wrapped: str) -> None:
    normalized = _read({"openinference.span.kind": "TOOL", "tool.name": "t", "input.value": wrapped})
    assert normalized.arguments == {"city": "Oslo"}


def test_what_cannot_be_read_is_null_with_a_reason() -> None:
    problems = ParseIssues()
    span = _read({}).sent
    span.attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": '[{"role":"user"',
        "retrospan.state.before": "[1]",
    }
    (normalized,) = read_spans([span], problems)
    assert normalized.input == []
    assert normalized.state_before is None
    assert sorted((problem.field, problem.raw) for problem in problems.found) == [
        ("gen_ai.input.messages", '[{"role":"user"'),
        ("retrospan.state.before", "[1]"),
    ]


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "[NaN]",
        "[[[[",
        '"\\ud800"',
        "{" * 5000,
        "[" * 5000 + "]" * 5000,
        '{"__proto__": {"x": 1}}',
        "1e999",
        "",
    ],
)
def test_odd_json_never_breaks_reading(value: str) -> None:
    keys = (
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.tool.definitions",
        "input.value",
        "output.value",
    )
    for operation in ("chat", "execute_tool", "invoke_agent"):
        normalized = _read(
            {
                "gen_ai.operation.name": operation,
                **dict.fromkeys(keys, value),
                "gen_ai.usage.input_tokens": value,
            }
        )
        assert normalized.tokens.input is None


def test_an_interrupt_is_not_an_error() -> None:
    event = Event(
        name="exception", time_ns=1, attributes={"exception.type": "langgraph.errors.GraphInterrupt"}
    )
    normalized = _read({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}, events=[event])
    assert (normalized.interrupted, normalized.failed) == (True, False)
