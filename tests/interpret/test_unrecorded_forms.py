"""One conversation in forms that instrumentations in the field write, made up from what is published of them: each is read
whole, and what is nearly the same is not taken for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from made_runs import RUN, agent, chat, rows
from made_spans import make_span
from recordings.record.pure_views import views_of_spans
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

from retrospan.ingest.interpret.normalize.same_tool import same_arguments
from retrospan.ingest.interpret.spans.exported_fields import with_plain_names
from retrospan.ingest.interpret.spans.span import Event, Span

#: Input and output tokens of the two requests.
USED = ((10, 2), (20, 4))
PAIRS = [*zip((ASKED, TOLD), (CALLED, SAID), USED, strict=True)]
RESULT = json.dumps(RETURNED)


def run_of(*acts: Span, **attributes: object) -> list[Span]:
    """Return acts one after the other, and a span around them."""
    begun = acts[0].started_at
    apart = [
        replace(act, started_at=begun + place * 10**9, ended_at=begun + place * 10**9 + 10**8)
        for place, act in enumerate(acts)
    ]
    ended = apart[-1].ended_at + 1
    root = make_span(attributes, "run", span_id="f" * 16, started_at=begun - 1, ended_at=ended)
    return [root, *(replace(act, parent_span_id=root.span_id) for act in apart)]


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


def test_an_object_with_capitals_that_is_no_message_stays_as_it_is() -> None:
    row = {"Role": "admin", "Name": "Ada"}
    assert with_plain_names(row) is row
    assert with_plain_names({"Rows": [row]}) == {"Rows": [row]}
    message: dict[str, object] = {"Role": "user", "Content": "Hi", "Arguments": {"City": "Oslo"}}
    assert with_plain_names([message]) == [
        {"role": "user", "content": "Hi", "arguments": {"City": "Oslo"}},
    ]


def test_arguments_by_place_are_those_asked_for_only_if_all_of_them_are() -> None:
    asked = {"city": "Oslo", "days": 2}
    assert same_arguments(["Oslo", 2], asked)
    assert same_arguments({"args": ["Oslo"], "kwargs": {"days": 2}}, asked)
    assert not same_arguments({"args": ["Oslo"], "kwargs": {}}, asked)
    assert not same_arguments(["Oslo", 3], asked)


def doubts(prompt: str, **more: Any) -> list[str]:
    """Return why the input of a run is in doubt whose only request was given a text."""
    asking = chat(1, [], ANSWER, gen_ai__prompt=prompt, **more)
    return [problem.reason for problem in rows(agent(), asking).problems if problem.field == "input"]


def test_a_prompt_that_is_one_text_of_several_lines_is_doubtful() -> None:
    (reason,) = doubts(f"{SYSTEM}\n{QUESTION}")
    assert "who said which is not told" in reason
    assert doubts(QUESTION) == []
    assert doubts(f"{QUESTION}\nAnd in Bergen?", gen_ai__system_instructions=SYSTEM) == []


def test_a_run_that_tells_of_no_act_and_returned_what_it_was_given_says_so() -> None:
    said_again = json.dumps({"messages": [{"role": "user", "content": QUESTION}]})
    given = {"langsmith.span.kind": "chain", "gen_ai.prompt": said_again}

    def doubted(returned: str) -> list[tuple[str, str | None]]:
        root = make_span({**given, "gen_ai.completion": returned}, "orla", trace_id=RUN)
        found = rows(root)
        assert [run.input for run in found.runs] == [QUESTION]
        return [(problem.field, problem.raw) for problem in found.problems]

    assert doubted(said_again) == [("model_calls", "orla")]
    assert doubted(json.dumps({"messages": []})) == []


def test_one_request_after_the_other_by_a_clock_of_whole_milliseconds_is_one_turn() -> None:
    asked, told = (
        model_span(
            {"gen_ai.input.messages": json.dumps(prompt), "gen_ai.output.messages": json.dumps([answer])}
        )
        for prompt, answer, _ in PAIRS
    )
    begun = 10**12
    first = replace(asked, trace_id="1" * 32, started_at=begun, ended_at=begun + 4_142_350)

    def runs(started_at: int) -> int:
        last = replace(told, trace_id="2" * 32, started_at=started_at, ended_at=begun + 10**7)
        return len(views_of_spans([first, last]).runs)

    assert runs(begun + 5_000_000) == runs(begun + 4_000_000) == 1
    assert runs(begun + 4_000_001) == runs(begun + 3_000_000) == 2


def test_a_transcript_that_an_agent_returns_completes_what_its_requests_leave_out() -> None:
    texts = [{"role": "user", "parts": [{"type": "text", "content": text}]} for text in (QUESTION, RESULT)]
    answers = [{"role": "assistant", "parts": [{"type": "text", "content": text}]} for text in ("", ANSWER)]
    calls = [
        model_span(
            {
                "gen_ai.input.messages": json.dumps(prompt),
                "gen_ai.output.messages": json.dumps([answer]),
                "gen_ai.response.finish_reasons": [why],
            }
        )
        for prompt, answer, why in zip(
            (texts[:1], [texts[0], texts[1]]), answers, ("tool_calls", "stop"), strict=True
        )
    ]

    def tools(transcript: object) -> list[tuple[object, object]]:
        kept = json.dumps({"data": {"state": {"memory": {"messages": transcript}}}})
        known = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "orla"}
        views = views_of_spans(run_of(*calls, **known, **{"x.entity.output": kept}))
        return [(call["tool_call_id"], call["result"]) for call in views.tool_calls]

    said_in_all = [*TOLD[1:], SAID]
    assert [(call_id, json.loads(str(result))) for call_id, result in tools(said_in_all)] == [
        ("c1", RETURNED)
    ]
    # Of another conversation nothing is taken.
    assert tools([{"role": "user", "content": "Weather in Bergen?"}, *said_in_all[1:]]) == []


def test_calls_that_only_a_printed_transcript_tells_are_those_of_the_run() -> None:
    printed = f"[TaskOutput(raw={ANSWER!r}, format=<Format.RAW: 'raw'>, messages={[*TOLD, SAID]!r})]"
    known = {"x.span.kind": "workflow", "crew.human_input": "False", "crew.tasks_output": printed}
    inner = make_span({"x.span.kind": "agent", "gen_ai.request.model": "m-1"}, "orla.agent")
    views = views_of_spans(run_of(inner, **known))
    assert [call["request_model"] for call in views.model_calls] == ["m-1", "m-1"]
    assert [call["tool_call_id"] for call in views.tool_calls] == ["c1"]
    assert [(run["input"], run["output"]) for run in views.runs] == [(QUESTION, ANSWER)]


def test_a_call_that_prompts_retell_under_a_made_up_id_has_that_of_the_answer() -> None:
    made_up = "1f2dcefe-5d7d-43ec-900a-90b2a157e31d"
    retold = json.loads(json.dumps(TOLD).replace('"c1"', f'"{made_up}"'))
    kept = {"custom": {"choices": [{"message": CALLED, "finish_reason": "stop"}]}}
    request = {"name": "get_weather", "input": GIVEN}
    first = {
        **kept,
        "message": {"role": "model", "content": [{"toolRequest": request}]},
        "finishReason": "stop",
    }
    calls = [
        make_span(
            {
                "x:input": json.dumps({"messages": prompt}),
                "x:output": json.dumps(answer),
                "x:name": "acme/m-1",
                "x:span:type": "model",
            },
            "acme/m-1",
        )
        for prompt, answer in (
            (ASKED, first),
            (retold, {"message": {"role": "model", "content": ANSWER}, "finishReason": "stop"}),
        )
    ]
    views = views_of_spans(run_of(*calls))
    assert [call["tool_call_id"] for call in views.tool_calls] == ["c1"]
    assert [call["request_model"] for call in views.model_calls] == ["m-1", "m-1"]
    assert made_up not in str(views.model_calls[1]["input_messages"])


def test_the_first_thing_by_place_may_be_the_arguments() -> None:
    about = {"toolCallId": "c1", "messages": []}
    assert same_arguments({"args": [GIVEN, about]}, GIVEN)
    assert same_arguments({"args": [json.dumps(GIVEN)]}, GIVEN)
    assert not same_arguments({"args": [about, GIVEN]}, {"city": "Bergen"})


def test_a_tool_has_the_name_in_the_message_that_it_returned() -> None:
    message = {"content": RESULT, "tool_call_id": "c1", "name": "get_weather"}
    returned = json.dumps({"lc": 1, "type": "constructor", "id": ["ToolMessage"], "kwargs": message})
    known = {"gen_ai.operation.name": "execute_tool", "x.input": json.dumps({"args": [json.dumps(GIVEN)]})}
    (call,) = views_of_spans([make_span({**known, "x.output": returned}, "execute_tool AnyTool")]).tool_calls
    assert (call["tool_name"], call["tool_call_id"]) == ("get_weather", "c1")
    assert (json.loads(call["arguments"]), json.loads(call["result"])) == (GIVEN, RETURNED)


def test_instructions_in_blocks_are_their_texts() -> None:
    blocks = json.dumps([{"type": "text", "text": SYSTEM}])
    prompt = [{"role": role, "parts": [{"type": "text", "content": blocks}]} for role in ("system", "user")]
    (call,) = views_of_spans([model_span({"gen_ai.input.messages": json.dumps(prompt)})]).model_calls
    assert json.loads(call["system_instructions"]) == [{"type": "text", "content": SYSTEM}]
    # What a person sends is what it is.
    assert blocks in json.loads(call["input_messages"])[0]["parts"][0]["content"]
