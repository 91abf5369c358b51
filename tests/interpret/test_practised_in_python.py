"""Forms that more recordings for practice showed, of instrumentations for Python: each is read whole, and what is nearly the
same is not taken for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from made_spans import make_span
from recordings.record.pure_views import views_of_spans
from spans import read_runs
from weather_question import ASKED, CALLED, GIVEN, SAID, TOLD, require_whole, tool_span
from weather_runs import RESULT, USED, first, last, messages, ran, run_of

from retrospan.ingest.interpret.spans.span import Span


def parts_as_a_result() -> list[Span]:
    part = [{"type": "text", "content": RESULT}]
    return run_of(first(), ran(x__input=json.dumps(GIVEN), x__output=json.dumps(part)), last())


def an_execution_in_three_spans(**named: object) -> list[Span]:
    """What calls the tool, what sends the call on, named after its code, and what runs it, without an id."""
    known = replace(tool_span(), attributes={**tool_span().attributes, "gen_ai.tool.call.id": "c1"})
    root, asked, outer, answer = run_of(first(), known, last())
    said = {"x.span.kind": "tool", "gen_ai.tool.call.id": "c1", **named}
    middle = make_span(said, "Agent.orla.call_tool", parent_span_id=outer.span_id)
    inner = make_span({"gen_ai.tool.name": "get_weather"}, "run", parent_span_id=middle.span_id)
    at = outer.started_at
    return [
        root,
        asked,
        outer,
        replace(middle, started_at=at + 1, ended_at=at + 9),
        replace(inner, started_at=at + 2, ended_at=at + 8),
        answer,
    ]


FORMS: list[Callable[[], list[Span]]] = [parts_as_a_result, an_execution_in_three_spans]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_what_was_said_comes_back(form: Callable[[], list[Span]]) -> None:
    require_whole(form())


@pytest.mark.parametrize(
    "told",
    [
        [{"type": "text", "content": "Oslo", "id": "d-1"}],
        [{"type": "html", "content": "Oslo"}],
        [{"content": "Oslo"}],
    ],
)
def test_documents_are_no_text(told: list[object]) -> None:
    tool = ran(x__input=json.dumps(GIVEN), x__output=json.dumps(told))
    (call,) = views_of_spans(run_of(first(), tool)).tool_calls
    assert json.loads(call["result"]) == told


@pytest.mark.parametrize(
    "named",
    [{"gen_ai.tool.call.id": "c2"}, {"x.input": json.dumps({"city": "Bergen"})}, {"tool.name": "log"}],
)
def test_what_a_tool_runs_itself_is_another_execution(named: dict[str, object]) -> None:
    spans = an_execution_in_three_spans(**named)
    assert len(views_of_spans([*spans[:4], spans[5]]).tool_calls) == 2


def test_a_text_before_an_object_of_the_same_call_may_be_an_error() -> None:
    """Of a tool that says nothing of how it went: the model asked for just that again, and was given an object."""
    lost = ran(x__input=json.dumps(GIVEN), x__output="the station is locked")
    lost = replace(lost, attributes={**lost.attributes, "gen_ai.tool.call.id": "c0"})
    asked_again = json.loads(json.dumps(CALLED).replace('"c1"', '"c0"'))
    told = [*ASKED, asked_again, {"role": "tool", "tool_call_id": "c0", "content": "the station is locked"}]
    spans = run_of(
        messages(ASKED, [asked_again], USED[0]),
        lost,
        messages(told, [CALLED], USED[1]),
        tool_span(),
        messages([*told, *TOLD[len(ASKED) :]], [SAID], USED[1]),
    )
    (run,) = read_runs(spans)
    assert [problem.reason for problem in run.problems if "may be an error" in problem.reason]
