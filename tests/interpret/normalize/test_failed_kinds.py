"""Spans with nothing left to be known by that are called as model calls are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, rows, said, tool

from retrospan.ingest.interpret.spans.span import Event, Span

HI = said("user", "Hi")
CALL = asks("weather", {"city": "Oslo"}, "c1")


def asking() -> list[Span]:
    return [
        chat(1, [HI], CALL, name="call_llm"),
        tool(3, "weather", {"city": "Oslo"}, "snow", gen_ai__tool__call__id="c1"),
    ]


def bare(**more: Any) -> Span:
    return act("", 5, **{"name": "call_llm", **more})


def called(*spans: Span) -> list[str]:
    return [call.span_id for call in rows(agent(), *asking(), *spans).model_calls][1:]


def test_one_that_says_nothing_is_a_model_call_and_the_run_lists_it() -> None:
    span = bare()
    assert called(span) == [span.span_id]
    found = rows(agent(), *asking(), span)
    assert (found.runs[0].outcome, found.runs[0].output) == ("ok", None)
    assert (span.span_id, "output_messages") in {(each.span_id, each.field) for each in found.problems}


def test_one_that_failed_is_a_model_call_that_failed() -> None:
    span = bare(error="BadRequest")
    assert [call.status for call in rows(agent(), *asking(), span).model_calls] == ["ok", "error"]


@pytest.mark.parametrize(
    "span",
    [
        bare(name="send"),
        bare(any__key=1),
        replace(bare(), events=[Event(name="said", time_ns=1, attributes={})]),
        bare(takes=-1),
    ],
    ids=["another name", "says something", "tells an event", "never ended"],
)
def test_anything_else_stays_what_it_is(span: Span) -> None:
    assert called(span) == []


def test_what_is_around_others_is_not_one() -> None:
    span = bare()
    assert called(span, act("", 5.5, name="GET", inside=span.span_id)) == []
