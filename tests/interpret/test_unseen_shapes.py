"""One short run, told in forms that no instrumentation known here has: all are read to the same calls and results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import pytest
from made_spans import make_span
from recordings.record.pure_views import views_of_spans
from recordings.record.said import answered_in_row, told_in_row

from retrospan.ingest.interpret.spans.span import Event, Span

ASKED, SNOW = "What is the weather in Oslo?", "It snows in Oslo."
ROOT, TRACE = "a" * 16, "b" * 32
Said = Mapping[str, object]

USER: Said = {"role": "user", "content": ASKED}
#: Each form: the call that the model asks for, what is told of its result, the last answer, and the whole responses.
FORMS: dict[str, tuple[Said, Said, object, object]] = {
    "choices that Python printed": (
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "snow"},
        "ChatCompletion(id='r1', choices=[Choice(finish_reason='tool_calls', index=0, message=ChatCompletionMessage(content=None, role='assistant', tool_calls=[ToolCall(id='c1', function=Function(name='weather', arguments='{\"city\": \"Oslo\"}'), type='function')]))], usage=CompletionUsage(prompt_tokens=10, completion_tokens=5))",
        f"ChatCompletion(id='r2', choices=[Choice(finish_reason='stop', index=0, message=ChatCompletionMessage(content='{SNOW}', role='assistant'))], usage=CompletionUsage(prompt_tokens=10, completion_tokens=5))",
    ),
    "parts of kinds of their own": (
        {"role": "assistant", "content": [{"type": "tool-invocation", "toolCallId": "c1", "toolName": "weather", "args": {"city": "Oslo"}}]},
        {"role": "tool", "content": [{"type": "tool-invocation-result", "toolCallId": "c1", "result": "snow"}]},
        {"finishReason": "tool-calls", "text": "", "toolCalls": [{"toolCallId": "c1", "toolName": "weather", "input": {"city": "Oslo"}}], "usage": {"promptTokens": 10, "completionTokens": 5}},
        {"finishReason": "stop", "text": SNOW, "toolCalls": [], "usage": {"promptTokens": 10, "completionTokens": 5}},
    ),
    "a response in a response": (
        {"role": "MessageRole.ASSISTANT", "content": "", "tool_calls": [{"id": "c1", "name": "weather", "args": {"city": "Oslo"}}]},
        {"role": "MessageRole.TOOL", "tool_call_id": "c1", "content": "snow"},
        {"data": {"response": {"choices": [{"message": {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}]}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}}},
        {"data": {"response": {"choices": [{"message": {"role": "assistant", "content": SNOW}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}}},
    ),
    "classes of messages": (
        {"type": "AssistantMessage", "content": [{"id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}'}]},
        {"type": "ToolResultMessage", "content": [{"call_id": "c1", "name": "weather", "content": "snow"}]},
        {"finish_reason": "function_calls", "content": [{"id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}'}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}},
        {"finish_reason": "stop", "content": SNOW, "usage": {"prompt_tokens": 10, "completion_tokens": 5}},
    ),
    "blocks of another API": (
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "snow"}]},
        "Message(id='r1', content=[ToolUseBlock(id='c1', input={'city': 'Oslo'}, name='weather', type='tool_use')], model='m-1', role='assistant', stop_reason='tool_use', type='message', usage=Usage(input_tokens=10, output_tokens=5))",
        f"Message(id='r2', content=[TextBlock(citations=None, text='{SNOW}', type='text')], model='m-1', role='assistant', stop_reason='end_turn', type='message', usage=Usage(input_tokens=10, output_tokens=5))",
    ),
}  # fmt: skip
WRAPPED: dict[str, Callable[[object], str]] = {
    "as messages": lambda messages: json.dumps(messages),
    "as a request": lambda messages: json.dumps({"model": "m", "messages": messages}),
    "as arguments": lambda messages: json.dumps({"args": [], "kwargs": {"model": "m", "messages": messages}}),
    "inside of a request": lambda messages: json.dumps({"request": {"messages": messages, "model": "m"}}),
    "as Python prints it": lambda messages: str({"messages": messages, "temperature": 0.1}),
    "as JSON in JSON": lambda messages: json.dumps(json.dumps(messages)),
}
KINDS = {"root": "agent", "model": "llm", "tool": "tool"}


def written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def span(kind: str, at: int, said: Mapping[str, object], events: Sequence[Event] = ()) -> Span:
    is_root = kind == "root"
    return make_span(
        {"kk": KINDS[kind], **said},
        trace_id=TRACE,
        span_id=ROOT if is_root else f"{at:016x}",
        parent_span_id="" if is_root else ROOT,
        name="run" if is_root else f"{kind}.run",
        started_at=at * 1_000_000_000,
        ended_at=(99 if is_root else at + 1) * 1_000_000_000,
        events=[*events],
        scope="x",
    )


def as_attributes(at: int, prompt: str, answer: str) -> Span:
    return span("model", at, {"qa": prompt, "qb": answer})


def as_events(at: int, prompt: str, answer: str) -> Span:
    said = (
        Event(name="q.told", time_ns=at * 1_000_000_000, attributes={"qa": prompt}),
        Event(name="q.said", time_ns=at * 1_000_000_000 + 5, attributes={"qb": answer}),
    )
    return span("model", at, {}, said)


@pytest.mark.parametrize("place", [as_attributes, as_events])
@pytest.mark.parametrize("wrapped", WRAPPED)
@pytest.mark.parametrize("form", FORMS)
def test_a_run_is_read_whatever_its_form(
    form: str, wrapped: str, place: Callable[[int, str, str], Span]
) -> None:
    call, result, asks, answers = FORMS[form]
    wrap, told = WRAPPED[wrapped], place
    views = views_of_spans(
        [
            span("root", 1, {}),
            told(2, wrap([USER]), written(asks)),
            span("tool", 4, {"q.toolName": "weather", "q.args": '{"city": "Oslo"}', "q.returned": "snow"}),
            told(6, wrap([USER, call, result]), written(answers)),
        ]
    )
    first, last = views.model_calls
    assert answered_in_row(first) == ("", [("c1", "weather", {"city": "Oslo"})])
    assert answered_in_row(last) == (SNOW, [])
    assert told_in_row(first) == [("user", "text", ASKED)]
    assert told_in_row(last) == [
        ("user", "text", ASKED),
        ("assistant", "call", "weather"),
        ("tool", "result", "snow"),
    ]
    (tool,) = views.tool_calls
    assert (tool["tool_call_id"], tool["result"], tool["status"]) == ("c1", "snow", "ok")
    (run,) = views.runs
    assert (run["input"], run["output"], run["outcome"]) == (ASKED, SNOW, "ok")
    assert (run["input_tokens"], run["output_tokens"]) == (20, 10)
