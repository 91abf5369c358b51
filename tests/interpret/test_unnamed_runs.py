"""Traces in which no attribute has a name that anybody knows: what they hold shows what they are, or nothing is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from made_spans import event, make_span
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
    in_traces,
    model_span,
    require_whole,
)

from retrospan.ingest.interpret.spans.span import Event, LogRecord, Span

TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
REQUESTS: list[dict[str, Any]] = [
    {"model": "m-1", "messages": said, "tools": TOOLS} for said in (ASKED, TOLD)
]
USAGES = [{"prompt_tokens": 10, "completion_tokens": 2}, {"prompt_tokens": 20, "completion_tokens": 4}]
RESPONSES: list[dict[str, Any]] = [
    {
        "id": f"r-{place}",
        "model": "m-1-0126",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage,
    }
    for place, (message, usage) in enumerate(zip((CALLED, SAID), USAGES, strict=True))
]
PAIRS = [*zip(REQUESTS, RESPONSES, strict=True)]


def around(*inner: Span, **attributes: object) -> list[Span]:
    """Return spans inside one of no kind."""
    outer = make_span(
        attributes,
        "turn",
        span_id="f" * 16,
        started_at=inner[0].started_at - 1,
        ended_at=inner[-1].ended_at + 1,
    )
    return [outer, *(replace(span, parent_span_id=outer.span_id) for span in inner)]


def tool(**attributes: object) -> Span:
    return make_span(attributes, "get_weather")


def in_events(told: Sequence[dict[str, object]]) -> Span:
    """Return one span of a whole turn, with an event for each part of it."""
    span = make_span({"who": "orla"}, "turn")
    span.events.extend(
        Event(name="part", time_ns=span.started_at + place, attributes=said)
        for place, said in enumerate(told)
    )
    return span


def in_records(span: Span, bodies: Sequence[object]) -> Span:
    """Return a span that only its log records tell of."""
    for place, body in enumerate(bodies):
        at = span.started_at + place
        record = LogRecord(event="", time_ns=at, body=body, attributes={}, order=(at, 0, str(place)))
        span.logs.append(record)
    return span


def one_object() -> list[Span]:
    first, last = (
        make_span({"data": json.dumps({"request": asked, "response": said})}) for asked, said in PAIRS
    )
    return around(first, tool(data=json.dumps({"args": GIVEN, "return": RETURNED})), last)


def json_in_json() -> list[Span]:
    first, last = (
        make_span({"payload": json.dumps({"input": json.dumps(asked), "output": json.dumps(said)})})
        for asked, said in PAIRS
    )
    return around(first, tool(payload=json.dumps({"input": GIVEN, "output": RETURNED})), last)


def objects_of_the_protocol() -> list[Span]:
    """Lists and objects that are not text."""
    first, last = (
        make_span({"conversation": asked, "reply": said, "usage": usage, "model": "m-1"})
        for asked, said, usage in zip((ASKED, TOLD), (CALLED, SAID), USAGES, strict=True)
    )
    return around(first, tool(function={"name": "get_weather", "arguments": GIVEN}, value=RETURNED), last)


def what_python_prints() -> list[Span]:
    asked = "SystemMessage(content='You are Orla.'), UserMessage(content='Weather in Oslo?')"
    called = (
        "AssistantMessage(content=None, tool_calls=[ToolCall(id='c1', name='get_weather', "
        "arguments={'city': 'Oslo'})])"
    )
    told = f"ToolMessage(content='{json.dumps(RETURNED)}', tool_call_id='c1')"
    said = f"AssistantMessage(content='{ANSWER}', tool_calls=None)"
    first, last = (
        make_span(
            {
                "kw": f"{{'model': 'm-1', 'messages': [{prompt}]}}",
                "ret": f"Completion(message={answer}, usage=Usage(input_tokens={used[0]}, output_tokens={used[1]}))",
            }
        )
        for prompt, answer, used in (
            (asked, called, (10, 2)),
            (f"{asked}, {called}, {told}", said, (20, 4)),
        )
    )
    return around(first, tool(kw=str(GIVEN), ret=str(RETURNED)), last)


def a_turn_in_events() -> list[Span]:
    parts: list[dict[str, Any]] = []
    for place, (asked, said) in enumerate(PAIRS):
        parts += [{"payload": json.dumps(asked)}, {"payload": json.dumps(said)}]
        if not place:
            parts += [{"fn": "get_weather", "input": json.dumps(GIVEN)}]
            parts += [{"fn": "get_weather", "output": json.dumps(RETURNED)}]
    return [in_events(parts)]


def a_turn_in_records() -> list[Span]:
    bodies = [each for asked, said in PAIRS for each in ({"kind": "rq", **asked}, {"response": said})]
    return [in_records(make_span({}, "job"), bodies)]


def a_trace_and_two_records_for_each_call() -> list[Span]:
    blocks: list[list[dict[str, Any]]] = [
        [{"type": "tool_use", "id": "c1", "name": "get_weather", "input": GIVEN}],
        [{"type": "text", "text": ANSWER}],
    ]
    result = {"type": "tool_result", "tool_use_id": "c1", "content": json.dumps(RETURNED)}
    question: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
    prompts = [
        question,
        [*question, {"role": "assistant", "content": blocks[0]}, {"role": "user", "content": [result]}],
    ]
    spans = []
    for prompt, said, used in zip(prompts, blocks, ((10, 2), (20, 4)), strict=True):
        asked = {"model": "m-1", "system": SYSTEM, "max_tokens": 9, "messages": prompt}
        answered = {
            "type": "message",
            "role": "assistant",
            "model": "m-1-0126",
            "content": said,
            "stop_reason": "end_turn",
            "usage": {"input_tokens": used[0], "output_tokens": used[1]},
        }
        spans.append(in_records(make_span({}, "call"), [json.dumps(asked), json.dumps(answered)]))
    return in_traces(spans)


def chunks_in_events() -> list[Span]:
    deltas: list[list[dict[str, Any]]] = [
        [{"tool_calls": [{"index": 0, **CALL}]}],
        [{"content": word} for word in ("It is ", "-3 in", " Oslo.")],
    ]
    spans = []
    for asked, parts, usage in zip(REQUESTS, deltas, USAGES, strict=True):
        span = make_span({"rq": json.dumps(asked)}, "stream")
        chunks: list[dict[str, object]] = [{"choices": [{"index": 0, "delta": part}]} for part in parts]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage})
        span.events.extend(
            Event(name="chunk", time_ns=span.started_at + place, attributes={"data": json.dumps(chunk)})
            for place, chunk in enumerate(chunks)
        )
        spans.append(span)
    return around(*spans)


WHOLE = pytest.mark.parametrize(
    "told",
    [
        one_object,
        json_in_json,
        objects_of_the_protocol,
        what_python_prints,
        a_turn_in_events,
        a_turn_in_records,
        a_trace_and_two_records_for_each_call,
        chunks_in_events,
    ],
)


@WHOLE
def test_what_is_told_comes_back_whatever_it_is_called(told: Callable[[], list[Span]]) -> None:
    require_whole(told())


@WHOLE
def test_an_agent_that_is_known_around_it_makes_no_difference(told: Callable[[], list[Span]]) -> None:
    spans = told()
    if spans[0].name != "turn":
        spans = around(*(replace(span, trace_id="a" * 32) for span in spans))
    known = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "orla"}
    require_whole([replace(spans[0], attributes={**spans[0].attributes, **known}), *spans[1:]])


def test_geminis_turn_in_events_has_no_ids() -> None:
    asked = {"role": "user", "parts": [{"text": QUESTION}]}
    called = {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": GIVEN}}]}
    told = {"role": "user", "parts": [{"functionResponse": {"name": "get_weather", "response": RETURNED}}]}
    said = {"role": "model", "parts": [{"text": ANSWER}]}
    parts: list[dict[str, Any]] = []
    for prompt, answer, used in (([asked], called, (10, 2)), ([asked, called, told], said, (20, 4))):
        system = {"parts": [{"text": SYSTEM}]}
        parts.append({"rq": json.dumps({"model": "m-1", "contents": prompt, "systemInstruction": system})})
        counts = {"promptTokenCount": used[0], "candidatesTokenCount": used[1]}
        candidates = [{"content": answer, "finishReason": "STOP"}]
        parts.append({"rs": json.dumps({"candidates": candidates, "usageMetadata": counts})})
    views = views_of_spans([in_events(parts)])
    (run,) = views.runs
    assert (run["input"], run["output"], run["input_tokens"]) == (QUESTION, ANSWER, 30)
    assert [SYSTEM in str(call["system_instructions"]) for call in views.model_calls] == [True, True]
    (called_tool,) = views.tool_calls
    assert (called_tool["tool_call_id"], json.loads(called_tool["result"])) == (None, RETURNED)


def test_a_transcript_with_its_tokens_is_a_turn_and_what_was_said_before_is_not_of_it() -> None:
    before: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    whole = {"trajectory": json.dumps([TOLD[0], *before, *TOLD[1:], SAID]), "tokens.prompt": 30}
    views = views_of_spans([make_span({**whole, "tokens.completion": 6}, "turn")])
    (run,) = views.runs
    assert (run["input"], run["output"]) == (QUESTION, ANSWER)
    assert [len(json.loads(call["input_messages"])) for call in views.model_calls] == [3, 5]
    parts: list[dict[str, Any]] = []
    for asked, said in PAIRS:
        longer = {**asked, "messages": [asked["messages"][0], *before, *asked["messages"][1:]]}
        parts += [{"payload": json.dumps(longer)}, {"payload": json.dumps(said)}]
    views = views_of_spans([in_events(parts)])
    assert [len(json.loads(call["input_messages"])) for call in views.model_calls] == [3, 5]
    (run,) = views.runs
    assert (run["input_tokens"], run["output_tokens"]) == (30, 6)


def test_a_model_call_that_tells_a_transcript_answered_with_the_end_of_it() -> None:
    spans = [
        make_span({"kind": kind, "conv": json.dumps(said)}, "x")
        for kind, said in (("completion", [*ASKED, CALLED]), ("completion", [*TOLD, SAID]))
    ]
    views = views_of_spans(around(*spans, kind="session"))
    assert [len(json.loads(call["input_messages"])) for call in views.model_calls] == [1, 3]
    (run,) = views.runs
    assert (run["input"], run["output"]) == (QUESTION, ANSWER)
    # What the conventions call its input is that.
    prefilled = json.dumps([*ASKED, {"role": "assistant", "content": "It is"}])
    views = views_of_spans([model_span({"gen_ai.input.messages": prefilled})])
    assert views.model_calls[0]["output_messages"] is None


def test_a_request_that_failed_is_one() -> None:
    raised = event("exception", exception__type="RateLimit", exception__message="429")
    failed = make_span({"rq": json.dumps(REQUESTS[0])}, "x", status="error", events=[raised])
    views = views_of_spans([failed])
    assert [(call["status"], call["request_model"]) for call in views.model_calls] == [("error", "m-1")]
    assert [run["outcome"] for run in views.runs] == ["error"]


@pytest.mark.parametrize(
    "attributes",
    [
        {"db.query.text": "GET conv:1", "db.value": json.dumps([*TOLD, SAID])},
        {"http.request.body": json.dumps({"messages": [*TOLD, SAID]}), "http.response.body": '{"ok": true}'},
        {"orm.model": "Conversation", "row": json.dumps([*TOLD, SAID])},
        {"posted": json.dumps(ASKED), "shown": json.dumps(SAID)},
        {"rq": json.dumps(REQUESTS[0])},
        {"quoted": json.dumps({"text": f"the user said {json.dumps(REQUESTS[0])}"}), "model": "m-1"},
    ],
    ids=["a store", "a server that stores", "a row", "nobody asked a model", "no answer", "a quotation"],
)
def test_who_stores_or_shows_what_was_said_asked_nobody(attributes: dict[str, object]) -> None:
    assert views_of_spans([make_span(attributes, "span")]).runs == []


def test_what_passes_a_call_on_is_around_it() -> None:
    asked, said = PAIRS[0]
    inner = make_span({"rq": json.dumps(asked), "rs": json.dumps(said)})
    views = views_of_spans(around(inner, wrapped=json.dumps({"request": asked, "response": said})))
    assert len(views.model_calls) == 1


def test_a_trace_with_a_name_that_is_known_is_read_by_its_names() -> None:
    stored = make_span({"saved": json.dumps({"request": REQUESTS[0], "response": RESPONSES[0]})}, "store")
    views = views_of_spans([model_span({"gen_ai.input.messages": json.dumps(ASKED)}), stored])
    assert len(views.model_calls) == 1


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "x.model": "m-1",
            "x.prompt": QUESTION,
            "x.completion": ANSWER,
            "x.prompt_tokens": 10,
            "x.completion_tokens": 2,
        },
        {"model": "m-1", "request": QUESTION, "response": ANSWER, "tokens_in": 10, "tokens_out": 2},
        {"model": "m-1", "input": QUESTION, "output": ANSWER, "u": json.dumps(USAGES[0])},
    ],
)
def test_plain_texts_with_a_model_and_its_tokens_are_a_call(attributes: dict[str, object]) -> None:
    views = views_of_spans(around(make_span(attributes, "ask"), total=12))
    (run,) = views.runs
    assert (run["input"], run["output"], run["input_tokens"], run["output_tokens"]) == (
        QUESTION,
        ANSWER,
        10,
        2,
    )
    assert [call["request_model"] for call in views.model_calls] == ["m-1"]
    for lacking in attributes:
        less = {name: value for name, value in attributes.items() if name != lacking}
        assert views_of_spans([make_span(less, "ask")]).runs == []
