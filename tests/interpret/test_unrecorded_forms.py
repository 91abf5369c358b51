"""One conversation in forms that instrumentations in the field write, made up from what is published of them: each is read
whole, and what is nearly the same is not taken for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from made_spans import make_span
from weather_question import (
    ANSWER,
    ASKED,
    CALL,
    CALLED,
    GIVEN,
    QUESTION,
    RETURNED,
    SAID,
    SYSTEM,
    TOLD,
    model_span,
    require_whole,
    tool_span,
)
from weather_runs import RESULT, USED, run_of

from retrospan.ingest.interpret.spans.span import Event, Span

PAIRS = [*zip((ASKED, TOLD), (CALLED, SAID), USED, strict=True)]


def with_events(span: Span, *events: tuple[str, Mapping[str, object]]) -> Span:
    span.events.extend(Event(name=name, time_ns=span.started_at, attributes=told) for name, told in events)
    return span


def dumped(**values: object) -> dict[str, object]:
    return {name.replace("__", "."): json.dumps(value) for name, value in values.items()}


def texts_under_their_speakers() -> list[Span]:
    """In events, as JSON in a list, the model among the things that a span lists with their types."""

    def call(prompt: list[object], answer: object, used: tuple[int, int]) -> Span:
        attributes: dict[str, object] = {
            "span.type": "inference.framework",
            "entity.1.type": "inference.openai",
        }
        attributes |= {"entity.2.name": "m-1", "entity.2.type": "model.llm.m-1"}
        counts = {"completion_tokens": str(used[1]), "prompt_tokens": str(used[0])}
        return with_events(
            make_span(attributes, "client.create"),
            ("data.input", {"input": [json.dumps(each) for each in prompt]}),
            ("data.output", {"response": json.dumps(answer)}),
            ("metadata", {**counts, "finish_reason": "stop"}),
        )

    asked = {"name": "get_weather", "args": GIVEN, "id": "c1", "type": "tool_call"}
    prompt: list[object] = [{"system": SYSTEM}, {"human": QUESTION}]
    ran = make_span({"span.type": "agentic.tool.invocation", "entity.1.name": "get_weather"}, "get_weather")
    with_events(ran, ("data.input", {"input": str(GIVEN)}), ("data.output", {"response": RESULT}))
    return run_of(
        call(prompt, {"ai": asked}, USED[0]),
        ran,
        call([*prompt, {"ai": json.dumps([asked])}, {"tool": RESULT}], {"ai": ANSWER}, USED[1]),
        **{"span.type": "agentic.turn"},
    )


def a_model_among_the_metadata() -> list[Span]:
    calls = [
        make_span(
            dumped(
                x__span_attributes={"type": "llm", "name": "Completion"},
                x__input_json=asked,
                x__output_json=[{"index": 0, "finish_reason": "stop", "message": answer}],
                x__metadata={"model": "m-1", "provider": "openai", "tools": []},
                x__metrics={"prompt_tokens": used[0], "completion_tokens": used[1], "tokens": sum(used)},
            )
        )
        for asked, answer, used in PAIRS
    ]
    ran = make_span(
        dumped(
            x__span_attributes={"type": "tool", "name": "get_weather"},
            x__input_json=GIVEN,
            x__output_json=RETURNED,
        ),
        "get_weather",
    )
    return run_of(calls[0], ran, calls[1], **dumped(x__span_attributes={"type": "task", "name": "run"}))


def a_completion_beside_its_calls() -> list[Span]:
    answers = ({"completion": None, "tool_calls": [CALL]}, {"completion": ANSWER, "reasoning": None})
    calls = [
        model_span(
            {
                "gen_ai.prompt": json.dumps({"messages": asked}),
                "gen_ai.completion": json.dumps(answer),
                "gen_ai.usage.input_tokens": used[0],
                "gen_ai.usage.output_tokens": used[1],
            }
        )
        for (asked, _, used), answer in zip(PAIRS, answers, strict=True)
    ]
    return run_of(calls[0], tool_span(), calls[1])


def results_listed_beside_an_empty_text() -> list[Span]:
    called = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"name": "get_weather", "arguments": GIVEN, "tool_id": "c1", "type": "function"}],
    }
    result = {"name": "get_weather", "result": RESULT, "tool_id": "c1", "type": "tool_result"}
    told = [*ASKED, called, {"role": "tool", "content": "", "tool_results": [result]}]
    calls = [
        make_span(
            {
                "x.kind": "llm",
                "x.model_name": "m-1",
                **dumped(
                    x__input__messages=asked,
                    x__output__messages=[answer],
                    x__metrics={"input_tokens": used[0], "output_tokens": used[1]},
                ),
            }
        )
        for asked, answer, used in zip((ASKED, told), (called, SAID), USED, strict=True)
    ]
    ran = make_span(
        {"x.kind": "tool", **dumped(x__input__value=GIVEN, x__output__value=RETURNED)}, "get_weather"
    )
    return run_of(calls[0], ran, calls[1], **{"x.kind": "agent"})


def functions_named_by_a_text() -> list[Span]:
    def call(messages: list[dict[str, object]], answer: dict[str, object], used: tuple[int, int]) -> Span:
        counts = {"gen_ai.usage.input_tokens": used[0], "gen_ai.usage.output_tokens": used[1]}
        events = [(f"gen_ai.{message['role']}.message", message) for message in messages]
        choice: dict[str, object] = {"index": 0, "message": json.dumps(answer)}
        return with_events(model_span(dict(counts)), *events, ("gen_ai.choice", choice))

    asked: list[dict[str, object]] = [dict(each) for each in ASKED]
    params: dict[str, object] = {
        "id": "c1",
        "type": "function",
        "function": {"name": "get_weather", "params": GIVEN},
    }
    called: dict[str, object] = {"role": "assistant", "function_calls": json.dumps([params])}
    first: dict[str, object] = {
        "content": None,
        "tool_calls": [{"id": "c1", "function": "get_weather", "arguments": GIVEN}],
    }
    told: dict[str, object] = {"role": "tool", "id": "c1", "content": RESULT}
    return run_of(
        call(asked, first, USED[0]),
        tool_span(),
        call([*asked, called, told], {"content": ANSWER}, USED[1]),
    )


def counts_in_the_message() -> list[Span]:
    def answered(message: dict[str, Any], used: tuple[int, int]) -> dict[str, Any]:
        usage = {"prompt_tokens": used[0], "completion_tokens": used[1], "total_tokens": sum(used)}
        return {**message, "response_meta": {"finish_reason": "stop", "usage": usage}}

    calls = [
        make_span(
            {"component": "ChatModel", "request_type": "chat", "model": "m-1", "op.kind": "chat"}
            | dumped(input=asked, output=answered(answer, used))
        )
        for asked, answer, used in PAIRS
    ]
    ran = make_span({"op.kind": "tool", **dumped(input=GIVEN, output=RETURNED)}, "get_weather")
    return run_of(calls[0], ran, calls[1])


def fields_of_go() -> list[Span]:
    def exported(message: dict[str, Any]) -> dict[str, object]:
        call = {
            "ID": "c1",
            "Type": "function",
            "Function": {"Name": "get_weather", "Arguments": json.dumps(GIVEN)},
        }
        return {
            "Role": message["role"],
            "Content": message["content"] or "",
            "ToolCalls": [call] if message.get("tool_calls") else [],
            "ToolCallID": message.get("tool_call_id", ""),
        }

    calls = [
        model_span(
            dumped(
                app__request={"Model": "m-1", "Messages": [*map(exported, asked)]},
                app__response={
                    "Choices": [{"Message": exported(answer), "FinishReason": "stop"}],
                    "Usage": {"PromptTokens": used[0], "CompletionTokens": used[1]},
                },
            )
        )
        for asked, answer, used in PAIRS
    ]
    return run_of(calls[0], tool_span(), calls[1])


def parts_under_the_name_of_their_kind() -> list[Span]:
    asked = [{"role": "system", "text": SYSTEM}, {"role": "human", "text": QUESTION}]
    called = {"role": "ai", "parts": [{"type": "tool_call", "tool_call": CALL}]}
    response = {"tool_call_id": "c1", "name": "get_weather", "content": RESULT}
    told = [
        *asked,
        called,
        {"role": "tool", "parts": [{"type": "tool_response", "tool_response": response}]},
    ]
    answers = (
        {"Content": "", "StopReason": "tool_calls", "ToolCalls": [CALL]},
        {"Content": ANSWER, "StopReason": "stop"},
    )
    calls = [
        model_span(
            {
                **dumped(llm__prompts=prompt, llm__completion={"choices": [answer]}),
                "gen_ai.usage.input_tokens": used[0],
                "gen_ai.usage.output_tokens": used[1],
            }
        )
        for prompt, answer, used in zip((asked, told), answers, USED, strict=True)
    ]
    return run_of(calls[0], tool_span(), calls[1])


def messages_with_types_in_capitals() -> list[Span]:
    asked = [
        {"text": SYSTEM, "type": "SYSTEM"},
        {"contents": [{"text": QUESTION, "type": "TEXT"}], "type": "USER"},
    ]
    request = {"id": "c1", "name": "get_weather", "arguments": json.dumps(GIVEN)}
    called = {"toolExecutionRequests": [request], "type": "AI"}
    result = {"id": "c1", "toolName": "get_weather", "text": RESULT, "type": "TOOL_EXECUTION_RESULT"}
    pairs = ((asked, called), ([*asked, called, result], {"text": ANSWER, "type": "AI"}))
    calls = [
        model_span(
            {
                "gen_ai.prompt": json.dumps(prompt),
                "gen_ai.completion": json.dumps(answer),
                "gen_ai.usage.input_tokens": used[0],
                "gen_ai.usage.output_tokens": used[1],
            }
        )
        for (prompt, answer), used in zip(pairs, USED, strict=True)
    ]
    return run_of(calls[0], tool_span(), calls[1])


def the_history_in_an_object_beside_the_last_text() -> list[Span]:
    asked = [{"content": SYSTEM, "type": "system"}, {"content": QUESTION, "type": "human"}]
    tool_calls = [{"name": "get_weather", "args": GIVEN, "id": "c1", "type": "tool_call"}]
    called = {"content": "", "type": "ai", "tool_calls": tool_calls}
    told = [*asked, called, {"content": RESULT, "type": "tool", "tool_call_id": "c1"}]
    calls = [
        make_span(
            {
                "openinference.span.kind": "LLM",
                "llm.model_name": "m-1",
                "input.value": last,
                "output.value": answer,
                "x.metadata": json.dumps({"chat_inputs": prompt}),
                "llm.token_count.prompt": used[0],
                "llm.token_count.completion": used[1],
            }
        )
        for prompt, last, answer, used in zip(
            (asked, told), (QUESTION, RESULT), ("", ANSWER), USED, strict=True
        )
    ]
    ran = make_span(
        {"openinference.span.kind": "TOOL", "input.value": str(GIVEN), "output.value": RESULT}, "get_weather"
    )
    return run_of(calls[0], ran, calls[1], **{"openinference.span.kind": "CHAIN", "input.value": QUESTION})


def indexes_in_brackets() -> list[Span]:
    def leaves(prefix: str, value: object) -> dict[str, object]:
        if isinstance(value, dict):
            return {k: v for key, inner in value.items() for k, v in leaves(f"{prefix}.{key}", inner).items()}
        if isinstance(value, list):
            return {k: v for n, inner in enumerate(value) for k, v in leaves(f"{prefix}[{n}]", inner).items()}
        return {} if value is None else {prefix: value}

    calls = [
        make_span(
            {
                "ai.kind": "llm",
                "ai.model": "m-1",
                **leaves("ai.request.messages", asked),
                **leaves("ai.response.message", answer),
                **leaves("ai.usage", {"inputTokens": used[0], "outputTokens": used[1]}),
            }
        )
        for asked, answer, used in PAIRS
    ]
    ran = make_span({"ai.kind": "tool", "ai.tool.args.city": "Oslo", "ai.tool.result": RESULT}, "get_weather")
    return run_of(calls[0], ran, calls[1], **{"ai.kind": "agent"})


def items_of_an_agents_sdk() -> list[Span]:
    question = {"role": "user", "content": QUESTION}
    called = {"type": "function_call", "callId": "c1", "name": "get_weather", "arguments": json.dumps(GIVEN)}
    result = {"type": "function_call_result", "callId": "c1", "output": {"type": "text", "text": RESULT}}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    calls = [
        make_span(
            {"kind": "generation", "model": "m-1", "instructions": SYSTEM}
            | dumped(input=prompt, output=[said], usage={"inputTokens": used[0], "outputTokens": used[1]})
        )
        for prompt, said, used in zip(
            ([question], [question, called, result]), (called, answer), USED, strict=True
        )
    ]
    ran = make_span({"kind": "tool", **dumped(input=GIVEN, output=RETURNED)}, "get_weather")
    return run_of(calls[0], ran, calls[1], kind="agent")


def counts_in_an_object_in_an_object() -> list[Span]:
    calls = [
        make_span(
            {"x.kind": "llm", "model": "m-1"}
            | {"in": json.dumps({"type": "chat_messages", "value": asked})}
            | dumped(
                out={"type": "chat_messages", "value": [answer]},
                metrics={"value": {"promptTokens": used[0], "completionTokens": used[1]}},
            )
        )
        for asked, answer, used in PAIRS
    ]
    ran = make_span(
        {"x.kind": "tool", "in": json.dumps({"type": "json", "value": GIVEN})}
        | dumped(out={"type": "json", "value": RETURNED}),
        "get_weather",
    )
    return run_of(calls[0], ran, calls[1])


def what_a_decorator_records(given: dict[str, object]) -> list[Span]:
    usages = [{"prompt_tokens": used[0], "completion_tokens": used[1]} for used in USED]
    calls = [
        make_span(
            {"type": "llm", "function.args": "[]"}
            | dumped(
                function__kwargs={"model": "m-1", "messages": asked},
                function__output={
                    "model": "m-1-0126",
                    "choices": [{"message": answer, "finish_reason": "stop"}],
                    "usage": usage,
                },
            )
        )
        for (asked, answer, _), usage in zip(PAIRS, usages, strict=True)
    ]
    ran = make_span({"type": "tool", **given, "function.output": RESULT}, "get_weather")
    return run_of(calls[0], ran, calls[1], type="agent")


def arguments_by_name() -> list[Span]:
    return what_a_decorator_records({"function.args": "[]", "function.kwargs": json.dumps(GIVEN)})


def arguments_by_place() -> list[Span]:
    return what_a_decorator_records({"function.input": json.dumps({"args": ["Oslo"], "kwargs": {}})})


def a_result_in_an_envelope() -> list[Span]:
    calls = [
        model_span(
            {
                "gen_ai.input.messages": json.dumps(asked),
                "gen_ai.output.messages": json.dumps([answer]),
                "gen_ai.usage.input_tokens": used[0],
                "gen_ai.usage.output_tokens": used[1],
            }
        )
        for asked, answer, used in PAIRS
    ]
    kept = json.dumps({"status": "success", "data": RETURNED})
    ran = make_span({"gen_ai.operation.name": "execute_tool", "tool.output": kept}, "get_weather")
    return run_of(calls[0], ran, calls[1])


@pytest.mark.parametrize(
    "told",
    [
        texts_under_their_speakers,
        a_model_among_the_metadata,
        a_completion_beside_its_calls,
        results_listed_beside_an_empty_text,
        functions_named_by_a_text,
        counts_in_the_message,
        fields_of_go,
        parts_under_the_name_of_their_kind,
        messages_with_types_in_capitals,
        the_history_in_an_object_beside_the_last_text,
        indexes_in_brackets,
        items_of_an_agents_sdk,
        counts_in_an_object_in_an_object,
        arguments_by_name,
        arguments_by_place,
        a_result_in_an_envelope,
    ],
)
def test_the_form_is_read_whole(told: Callable[[], list[Span]]) -> None:
    require_whole(told())
