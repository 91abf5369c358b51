"""Spans side by side that tell of one request, and those that do not."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from made_spans import make_span
from spans import rows_of_spans

from retrospan.ingest.interpret.spans.span import Span
from retrospan.schemas.canonical import ModelCallRow

SECOND = 10**9
CHAT: dict[str, object] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
SAID = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}])


def agent() -> Span:
    return make_span(
        {"gen_ai.operation.name": "invoke_agent"}, span_id="1" * 16, started_at=0, ended_at=99 * SECOND
    )


def call(span: int, began: float, ended: float, scope: str, **attributes: object) -> Span:
    named = {f"gen_ai.{key.replace('__', '.')}": value for key, value in attributes.items()}
    more: dict[str, Any] = {"started_at": int(began * SECOND), "ended_at": int(ended * SECOND)}
    return make_span(CHAT | named, scope=scope, span_id=f"{span:016x}", parent_span_id="1" * 16, **more)


def calls(*spans: Span) -> list[ModelCallRow]:
    found = []
    for order in permutations((agent(), *spans)):
        (rows,) = rows_of_spans(order)
        found.append(rows.model_calls)
    assert all(each == found[0] for each in found)
    return found[0]


def test_an_sdk_and_an_instrumentation_that_have_one_response_tell_of_one_request() -> None:
    ours = call(2, 1, 3, "instrumentation", response__id="r1", output__messages=SAID)
    theirs = call(3, 1.5, 2.5, "sdk", response__id="r1", usage__input_tokens=7, usage__output_tokens=2)
    (row,) = calls(ours, theirs)
    assert (row.span_id, row.input_tokens, row.output_tokens) == (ours.span_id, 7, 2)
    assert row.output_values


@pytest.mark.parametrize(
    "other",
    [
        call(3, 4, 5, "sdk", response__id="r1"),
        call(3, 1.5, 2.5, "sdk", response__id="r2"),
        call(3, 1.5, 2.5, "instrumentation", response__id="r1"),
    ],
    ids=["an answer from a cache, later", "another response", "the same instrumentation"],
)
def test_others_are_two(other: Span) -> None:
    ours = call(2, 1, 3, "instrumentation", response__id="r1", output__messages=SAID)
    assert [row.span_id for row in calls(ours, other)] == [ours.span_id, other.span_id]


def test_what_services_and_several_scopes_tell_of_one_response_is_one_request() -> None:
    ours = call(2, 1, 3, "a", response__id="r1", output__messages=SAID)
    gateway = call(3, 1.5, 2.5, "a", response__id="r1", usage__input_tokens=7)
    gateway.resource = {"service.name": "gateway"}
    client = call(4, 1.2, 2.8, "b", response__id="r1", usage__output_tokens=2)
    (row,) = calls(ours, gateway, client)
    assert (row.span_id, row.input_tokens, row.output_tokens) == (ours.span_id, 7, 2)
    # Of one that a scope tells twice it is not known which is which.
    assert len(calls(ours, client, call(5, 1.3, 2.7, "b", response__id="r1"))) == 3


def test_what_comes_again_from_a_cache_is_another_request_however_many_tell_of_it() -> None:
    """Each time two tell of it, the one whatever the other is called, and of the last time one."""
    told = [
        call(number, at + 0.1 * (scope == "b"), at + 1, scope, response__id="r1", output__messages=SAID)
        for number, (at, scope) in enumerate([(1, "a"), (1, "b"), (3, "b"), (3, "c"), (5, "a")], start=2)
    ]
    assert [row.span_id for row in calls(*told)] == [told[0].span_id, told[3].span_id, told[4].span_id]


def test_a_request_without_a_response_is_the_one_around_it_if_that_is_certain() -> None:
    failed = call(2, 1, 3, "instrumentation", input__messages="[]", output__messages=SAID)
    bare = call(3, 1.5, 2.5, "sdk")
    assert [row.span_id for row in calls(failed, bare)] == [failed.span_id]
    beside = call(4, 1.2, 2.8, "instrumentation", output__messages=SAID)
    assert len(calls(failed, bare, beside)) == 3, "either may be the one"
    assert len(calls(failed, call(3, 1.5, 3.5, "sdk"))) == 2, "it ends later"
    assert len(calls(failed, call(3, 1.5, 2.5, "sdk", request__model="n"))) == 2, "another model"


def test_a_client_s_own_span_inside_one_that_has_the_response_is_one_request() -> None:
    """Neither tells what was said: the client's instrumentation knows the response, and the client itself its counts."""
    outer = call(2, 1, 9, "some.sdk", response__id="r1", usage__input_tokens=100)
    (one,) = calls(outer, call(3, 2, 8, "client", usage__input_tokens=100))
    assert (one.span_id, one.input_tokens) == (outer.span_id, 100)
    # One of another model, one with a response of its own, one that ends later: two requests.
    for inner in (
        call(3, 2, 8, "client", request__model="n"),
        call(3, 2, 8, "client", response__id="r2"),
        call(3, 2, 10, "client"),
    ):
        assert len(calls(outer, inner)) == 2


def test_a_refused_request_that_a_gateway_tells_beside_its_caller_is_one() -> None:
    """What the gateway's server did for it has the same parent; its failed requests have ids of their own."""
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}])
    refused: dict[str, Any] = {"status": "error", "status_message": "too long"}
    ours = call(2, 1, 5, "client", input__messages=asked)
    theirs = call(4, 2, 3, "gateway", input__messages=asked, response__id="made-up")
    for span, service in ((ours, "shop"), (theirs, "gateway")):
        span.status, span.status_message = refused.values()
        span.resource = {"service.name": service}
    served = make_span(
        {}, span_id="3" * 16, parent_span_id="1" * 16, kind=2, started_at=SECOND, ended_at=4 * SECOND
    )
    served.resource, theirs.parent_span_id = theirs.resource, served.span_id
    assert [row.span_id for row in calls(ours, served, theirs)] == [ours.span_id]
    # What another server did is something else, and so is what no server did.
    served.parent_span_id = "f" * 16
    assert len(calls(ours, served, theirs)) == 2
    served.parent_span_id, served.kind = "1" * 16, 1
    assert len(calls(ours, served, theirs)) == 2


def test_a_gateway_that_answers_under_the_name_it_was_asked_for_is_told_by_what_it_asked() -> None:
    ours = call(2, 1, 5, "gateway", response__id="r1", response__model="m", output__messages=SAID)
    theirs = call(3, 2, 3, "client", response__id="r1", response__model="m-2026-01-31")
    theirs.parent_span_id = ours.span_id
    assert [row.response_model for row in calls(ours, theirs)] == ["m-2026-01-31"]
    theirs.attributes = {**theirs.attributes, "gen_ai.response.model": "n-2026-01-31"}
    assert [row.response_model for row in calls(ours, theirs)] == ["m"]
