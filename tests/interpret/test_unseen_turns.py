"""Conversations whose requests are told apart from each other, or barely: without ids, without calls, without roles."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_spans import ASKS, CALL, QUESTION, chat_span, event, make_span, text
from recordings.record.pure_views import views_of_spans
from spans import read_run
from weather_question import (
    ASKED,
    CALLED,
    RETURNED,
    SAID,
    in_traces,
    model_span,
    require_whole,
    tool_span,
)

from retrospan.ingest.interpret.spans.span import Span

_SYSTEM = text("system", "You are Orla.")
_ASKED = text("user", "Weather in Oslo?")
_ANSWER = text("assistant", "It is -3 in Oslo.")
_BARE = {**CALL, "id": ""}


def _told(given: list[Any], answer: list[Any], place: int, **others: object) -> Span:
    used = ((10, 2), (20, 4))[place]
    return model_span(
        {
            "gen_ai.input.messages": json.dumps([_SYSTEM, _ASKED, *given]),
            "gen_ai.output.messages": json.dumps(answer),
            "gen_ai.usage.input_tokens": used[0],
            "gen_ai.usage.output_tokens": used[1],
            **others,
        }
    )


def _result(**others: object) -> dict[str, object]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "response": RETURNED, **others}]}


def test_a_prompt_that_forgets_the_ids_that_an_instrumentation_made_up_goes_on_from_the_answer() -> None:
    gemini: dict[str, object] = {"gen_ai.provider.name": "gemini"}
    first = _told([], [{"role": "assistant", "parts": [CALL]}], 0, **gemini)
    last = _told([{"role": "assistant", "parts": [_BARE]}, _result(id="")], [_ANSWER], 1, **gemini)
    require_whole(in_traces([first, last]))


def test_a_prompt_without_calls_goes_on_from_the_answer_that_made_as_many() -> None:
    said = {"role": "tool", "parts": [{"type": "text", "content": json.dumps(RETURNED)}]}
    first = _told([], [ASKS], 0)
    require_whole(in_traces([first, _told([said], [_ANSWER], 1)]))


def test_several_prompts_without_calls_are_one_turn() -> None:
    def said(what: object) -> dict[str, object]:
        return {"role": "tool", "parts": [{"type": "text", "content": json.dumps(what)}]}

    again = {"role": "assistant", "parts": [{**CALL, "id": "c2"}]}
    spans = [
        _told([], [ASKS], 0),
        _told([said({"sky": None})], [again], 0),
        _told([said({"sky": None}), said(RETURNED)], [_ANSWER], 1),
    ]
    views = views_of_spans(in_traces(spans))
    assert [run["output"] for run in views.runs] == ["It is -3 in Oslo."]
    results = [(tool["tool_call_id"], json.loads(tool["result"])) for tool in views.tool_calls]
    assert results == [("c1", {"sky": None}), ("c2", RETURNED)]


def test_two_answers_to_one_prompt_are_not_told_apart_by_a_prompt_without_calls() -> None:
    said = {"role": "tool", "parts": [{"type": "text", "content": json.dumps(RETURNED)}]}
    other = {"role": "assistant", "parts": [{**CALL, "id": "d1"}]}
    spans = in_traces([_told([], [ASKS], 0), _told([], [other], 0), _told([said], [_ANSWER], 1)])
    assert len(views_of_spans(spans).runs) == 3


def test_a_call_is_not_denied_where_a_result_without_an_id_stands_in_the_next_prompt() -> None:
    calls: dict[str, object] = {"role": "assistant", "parts": [CALL, {**CALL, "id": "c2"}]}
    said: dict[str, object] = {"role": "tool", "parts": [{"type": "text", "content": json.dumps(RETURNED)}]}
    run = read_run("r", [chat_span([QUESTION], [calls]), chat_span([QUESTION, calls, said], [])])
    assert {call.status for call in run.calls.tools} == {"unknown"}


def _by_name(result: dict[str, Any]) -> list[Span]:
    def asked(messages: list[dict[str, Any]], answer: dict[str, Any], place: int) -> Span:
        used = ((10, 2), (20, 4))[place]
        counts = {"acme.usage.input": used[0], "acme.usage.output": used[1]}
        return model_span(
            {"acme.input": json.dumps({"messages": messages}), "acme.output": json.dumps(answer), **counts}
        )

    return [asked(ASKED, CALLED, 0), tool_span(), asked([*ASKED, CALLED, result], SAID, 1)]


@pytest.mark.parametrize("named", [{"role": "get_weather"}, {}], ids=["tool", "nobody"])
def test_what_follows_a_call_is_its_result_whoever_is_named(named: dict[str, str]) -> None:
    require_whole(_by_name({"content": json.dumps(RETURNED), **named}))


def test_an_empty_list_told_by_a_tool_is_its_result() -> None:
    views = views_of_spans(_by_name({"role": "get_weather", "content": []}))
    told = json.loads(views.model_calls[1]["input_messages"])[-1]
    assert told["role"] == "tool"
    assert [part["response"] for part in told["parts"]] == [[]]


def test_nobodys_words_stay_a_users_where_no_call_waits() -> None:
    span = model_span(
        {"acme.input": json.dumps({"messages": [{"role": "system", "content": "S"}, {"content": "Hi"}]})}
    )
    (call,) = views_of_spans([span]).model_calls
    assert json.loads(call["input_messages"]) == [text("user", "Hi")]


@pytest.mark.parametrize("nothing", ["None", "null", "undefined"])
def test_what_prints_nothing_is_not_said_beside_a_call(nothing: str) -> None:
    said: dict[str, object] = {"role": "assistant", "parts": [{"type": "text", "content": nothing}, CALL]}
    run = read_run("r", [chat_span([QUESTION], [said])])
    assert run.calls.models[0].span.output == [ASKS]


def test_an_answer_may_be_the_word_none() -> None:
    run = read_run("r", [chat_span([QUESTION], [text("assistant", "None")])])
    assert run.calls.models[0].span.output == [text("assistant", "None")]


def _of_client(number: int, response: str | None, **others: Any) -> Span:
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m-1",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 3,
    }
    named = {"gen_ai.response.id": response} if response else {"error.type": "overloaded"}
    return make_span(
        {**attributes, **named},
        "client.create",
        scope="acme.client",
        trace_id="c" * 32,
        parent_span_id=f"{number:016x}",
        **others,
    )


def test_what_a_client_tells_in_a_trace_of_its_own_is_the_request_with_the_same_response() -> None:
    root = make_span(
        {
            "langsmith.span.kind": "chain",
            "gen_ai.prompt": '{"question": "Hi"}',
            "gen_ai.completion": '{"output": "Ho"}',
        },
        "orla",
        scope="langsmith",
        ended_at=10**15,
    )

    def asked(answer: object, **others: Any) -> Span:
        said = {"gen_ai.prompt": json.dumps({"messages": [{"role": "user", "content": "Hi"}]})}
        attributes = {"langsmith.span.kind": "llm", "gen_ai.completion": json.dumps(answer), **said}
        return make_span({**attributes, **others}, "Acme", scope="langsmith", parent_span_id=root.span_id)

    first = asked({"role": "assistant", "content": "Ho"}, **{"gen_ai.response.id": "m1"})
    failed = asked({"output": None})
    around = {"started_at": first.started_at + 1, "ended_at": first.ended_at - 1}
    within = {"started_at": failed.started_at + 1, "ended_at": failed.ended_at - 1, "status": "error"}
    apart = [_of_client(901, "m1", **around), _of_client(902, None, **within)]
    views = views_of_spans([root, first, failed, *apart])
    assert [run["input_tokens"] for run in views.runs] == [20]
    assert [(call["status"], call["response_model"]) for call in views.model_calls] == [
        ("ok", None),
        ("error", None),
    ]
    # Without the other trace these are a run of their own.
    assert len(views_of_spans(apart).runs) == 1


@pytest.mark.parametrize("status", ["unset", "ok"])
def test_an_exception_in_the_place_of_an_answer_is_a_failure(status: str) -> None:
    raised = [event("exception", exception__type="TooLong", exception__message="too long")]
    failed = chat_span([QUESTION], [], events=raised, status=status)
    answered = chat_span([QUESTION], [text("assistant", "S")], events=raised, status=status)
    run = read_run("r", [failed, answered])
    assert [call.span.failed for call in run.calls.models] == [True, False]
    assert run.calls.models[0].span.error_type == "TooLong"


@pytest.mark.parametrize("is_swapped", [False, True])
def test_results_stand_in_the_order_of_their_calls_where_they_repeat_what_these_were_given(
    is_swapped: bool,
) -> None:
    bergen: dict[str, object] = {**CALL, "id": "c2", "arguments": {"city": "Bergen"}}
    calls: dict[str, object] = {"role": "assistant", "parts": [CALL, bergen]}
    said = [
        text("tool", '{"city": "Oslo", "sky": "snow"}'),
        text("tool", '{"city": "Bergen", "sky": "rain"}'),
    ]
    prompt = [QUESTION, *(said[::-1] if is_swapped else said)]
    run = read_run("r", [chat_span([QUESTION], [calls]), chat_span(prompt, [text("assistant", "S")])])
    told = [(call.call_id, call.status) for call in run.calls.tools]
    assert told == [("c1", "unknown" if is_swapped else "ok"), ("c2", "unknown" if is_swapped else "ok")]
