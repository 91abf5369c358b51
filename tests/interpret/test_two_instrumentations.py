"""A program whose framework tells its own spans, and another instrumentation all of it again, in a trace of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from made_spans import make_span
from recordings.record.pure_views import views_of_spans
from weather_question import ANSWER, ASKED, CALL, GIVEN, QUESTION, RETURNED, TOLD

from retrospan.ingest.interpret.spans.span import Span

SECOND = 10**9
CALL_ID = "call_1234567890ab"
MODEL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"}


def in_words(value: object) -> str:
    return json.dumps(value).replace('"c1"', f'"{CALL_ID}"')


def at(span: Span, begun: float, ended: float, **more: Any) -> Span:
    return replace(span, started_at=int(begun * SECOND), ended_at=int(ended * SECOND), **more)


def telling(trace: str = "a", begun: float = 0, service: str = "shop") -> list[Span]:
    """Return the trace of the instrumentation that tells contents: of tools no ids of calls."""

    def span(attributes: Mapping[str, object], name: str, start: float, end: float, parent: str = "") -> Span:
        made = make_span(dict(attributes), name, scope="langsmith", resource={"service.name": service})
        return at(made, begun + start, begun + end, trace_id=trace * 32, parent_span_id=parent)

    told = {"gen_ai.prompt": in_words({"input": QUESTION}), "gen_ai.completion": in_words({"output": ANSWER})}
    root = span({"langsmith.span.kind": "chain", "gen_ai.operation.name": "chain", **told}, "session", 0, 9)

    def request(start: float, end: float, prompt: object, answer: object, tokens: int) -> Span:
        counts = {"gen_ai.usage.input_tokens": tokens, "gen_ai.usage.output_tokens": 3}
        said = {
            "gen_ai.prompt": in_words({"messages": prompt}),
            "gen_ai.completion": in_words(answer),
            "langsmith.span.kind": "llm",
        }
        return span({**MODEL, **said, **counts}, "m-1", start, end, root.span_id)

    return [
        root,
        request(1, 3, ASKED, {"role": "assistant", "content": None, "tool_calls": [CALL]}, 10),
        span(
            {
                "langsmith.span.kind": "tool",
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "get_weather",
                "gen_ai.prompt": in_words(GIVEN),
                "gen_ai.completion": in_words(RETURNED),
            },
            "get_weather",
            4.1,
            4.4,
            root.span_id,
        ),
        request(5, 7, TOLD, {"role": "assistant", "content": ANSWER}, 20),
    ]


def silent(
    trace: str = "b",
    begun: float = 0,
    service: str = "shop",
    call_id: str = CALL_ID,
    **second: Any,
) -> list[Span]:
    """Return the framework's own trace: agent, requests and tools with ids of calls, and no contents."""

    def span(attributes: Mapping[str, object], name: str, start: float, end: float, parent: str = "") -> Span:
        made = make_span(dict(attributes), name, scope="some.framework", resource={"service.name": service})
        return at(made, begun + start, begun + end, trace_id=trace * 32, parent_span_id=parent)

    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "orla"}
    root = span(agent, "invoke_agent orla", 0.5, 8.5)
    ran = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.id": call_id,
    }

    def request(start: float, end: float, tokens: int, **more: Any) -> Span:
        counts = {"gen_ai.usage.input_tokens": tokens, "gen_ai.usage.output_tokens": 3}
        return span(
            {**MODEL, "gen_ai.agent.name": "orla", **counts, **more}, "chat m-1", start, end, root.span_id
        )

    last = {"start": 5.1, "end": 6.9, "tokens": 20, **second}
    return [
        root,
        request(1.1, 2.9, 10),
        span(ran, "execute_tool get_weather", 4, 4.5, root.span_id),
        request(**last),
    ]


def test_both_traces_are_one_run_in_which_everything_is_told_once() -> None:
    views = views_of_spans([*telling(), *silent()])
    (run,) = views.runs
    assert (run["input"], run["output"], run["outcome"]) == (QUESTION, ANSWER, "ok")
    assert (run["input_tokens"], run["output_tokens"]) == (30, 6)
    assert len(views.model_calls) == 2
    (call,) = views.tool_calls
    assert (call["tool_name"], call["tool_call_id"], call["status"]) == ("get_weather", CALL_ID, "ok")
    assert (json.loads(call["arguments"]), json.loads(call["result"])) == (GIVEN, RETURNED)


def called_otherwise(span: Span) -> Span:
    """Return a span with another id of the call."""
    told = {
        name: value.replace(CALL_ID, "call_999999999999") if isinstance(value, str) else value
        for name, value in span.attributes.items()
    }
    return replace(span, attributes=told)


def test_turns_of_one_program_stay_apart() -> None:
    first = [*telling("a"), *silent("b")]
    second = [called_otherwise(span) for span in (*telling("c", 20), *silent("d", 20))]
    views = views_of_spans([*first, *second])
    assert [run["input_tokens"] for run in views.runs] == [30, 30]
    assert [call["tool_call_id"] for call in views.tool_calls] == [CALL_ID, "call_999999999999"]


TURN = "e-ffe026ad-5d3b-4661"


def named(spans: list[Span], attribute: str, value: object = TURN) -> list[Span]:
    """Return spans that all have one attribute more."""
    return [replace(span, attributes={**span.attributes, attribute: value}) for span in spans]


def around(spans: list[Span]) -> list[Span]:
    """Return the silent spans with requests that lie around those that tell contents."""
    return [
        at(span, span.started_at / SECOND - 0.2, span.ended_at / SECOND + 0.2)
        if span.name == "chat m-1"
        else span
        for span in spans
    ]


def untold(spans: list[Span]) -> list[Span]:
    """Return the spans that tell contents as those of an instrumentation that nothing is known of, with other ids of calls."""
    return [replace(called_otherwise(span), scope="some.instrumentation") for span in spans]


def test_two_that_name_the_same_turn_are_one_run() -> None:
    telling_it = named(untold(telling()), "scope.agentic.turn")
    for silent_ones in (silent(), around(silent())):
        views = views_of_spans([*telling_it, *named(silent_ones, "some.framework.invocation_id")])
        (run,) = views.runs
        assert (run["input_tokens"], len(views.model_calls), len(views.tool_calls)) == (30, 2, 1)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("some.framework.session_id", TURN),
        ("some.eval_run_id", TURN),
        ("some.framework.invocation_id", "turn-1"),
        ("some.framework.invocation_id", "e-000026ad-5d3b-0000"),
        ("some.framework.invocation_id", 12345678901234),
    ],
    ids=["of a session", "of an evaluation", "an id that others have", "another turn", "a number"],
)
def test_two_that_do_not_are_two(attribute: str, value: object) -> None:
    telling_it = named(untold(telling()), "scope.agentic.turn")
    assert len(views_of_spans([*telling_it, *named(silent(), attribute, value)]).runs) == 2


@pytest.mark.parametrize(
    "others",
    [
        silent(service="mail"),
        silent(begun=4),
        silent(call_id="c1"),
        silent(call_id="call_000000000000"),
        [at(silent()[0], 0, 9.5), *silent()[1:]],
        [*silent(), *silent("d")],
        [*telling("c"), *silent()],
    ],
    ids=[
        "another service",
        "another time",
        "ids that others have",
        "another call",
        "around it",
        "two say so",
        "two asked",
    ],
)
def test_what_may_be_something_else_stays_a_run_of_its_own(others: list[Span]) -> None:
    views = views_of_spans([*telling(), *others])
    assert len(views.runs) == 1 + len({span.trace_id for span in others})


def test_requests_that_are_not_all_told_again_are_requests_of_their_own() -> None:
    # The second one lasts longer than the one that tells contents: it is perhaps another.
    views = views_of_spans([*telling(), *silent(end=7.5)])
    assert len(views.runs) == 1
    assert len(views.model_calls) == 4


def test_an_sdk_that_tells_of_responses_alone_tells_of_requests() -> None:
    told = {
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.model": "m-1-2026-01-01",
        "gen_ai.usage.output_tokens": 3,
    }
    bare = make_span({**told, "gen_ai.usage.input_tokens": 150}, "messages.create", scope="sdk")
    (call,) = views_of_spans([bare]).model_calls
    assert (call["response_model"], call["status"]) == ("m-1-2026-01-01", "ok")
    # Beside what another instrumentation tells of the same request, it is that one; the larger count holds what was cached.
    root = at(make_span({}, "POST /chat"), 0, 9)
    said = {**MODEL, "gen_ai.response.model": "m-1-2026-01-01", "gen_ai.usage.input_tokens": 86}
    said["gen_ai.input.messages"] = json.dumps(
        [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]
    )
    outer = at(make_span(said, "chat m-1"), 1, 3, parent_span_id=root.span_id)
    inner = at(bare, 1.1, 2.9, parent_span_id=root.span_id)
    views = views_of_spans([root, outer, inner])
    (call,) = views.model_calls
    assert (call["request_model"], views.runs[0]["input_tokens"]) == ("m-1", 150)
    # With another model it is another request.
    other = replace(inner, attributes={**inner.attributes, "gen_ai.response.model": "m-2"})
    assert len(views_of_spans([root, outer, other]).model_calls) == 2


def test_a_dated_model_beside_its_plain_name_is_the_one_that_answered() -> None:
    dated = {**MODEL, "gen_ai.request.model": "m-1-20260101"}
    span = make_span({**dated, "some.metadata.model": "m-1"}, "chat")
    (call,) = views_of_spans([span]).model_calls
    assert (call["request_model"], call["response_model"]) == ("m-1", "m-1-20260101")
    for other in ({"some.metadata.model": "m-2"}, {"some.metadata.fallback": "m-1"}):
        (call,) = views_of_spans([make_span({**dated, **other}, "chat")]).model_calls
        assert (call["request_model"], call["response_model"]) == ("m-1-20260101", None)
