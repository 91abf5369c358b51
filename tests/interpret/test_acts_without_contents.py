"""Instrumentations that tell acts and nothing of what was said: counts in an event of their own, failures by an exception
alone, messages without contents; and requests that other traces tell."""

from __future__ import annotations

import json

import pytest
from made_runs import rows
from made_spans import event, make_span
from recordings.record.pure_views import views_of_spans
from weather_question import model_span
from weather_runs import run_of

from retrospan.ingest.interpret.spans.span import Event, Span

_RAISED = Event(
    name="exception", time_ns=1, attributes={"exception.type": "Locked", "exception.message": "it is locked"}
)


def _counted(input_tokens: int, output_tokens: int, at: int) -> Event:
    counts = {"gen_ai.usage.input_tokens": input_tokens, "gen_ai.usage.output_tokens": output_tokens}
    return Event(name="gen_ai.usage", time_ns=at, attributes=counts)


def _request(*events: Event) -> Span:
    told = model_span({"gen_ai.request.model": "m-1", "gen_ai.response.id": "r-1"})
    told.events.extend(events)
    return told


def test_counts_in_an_event_are_those_of_the_request() -> None:
    (run,) = rows(*run_of(_request(_counted(100, 20, 1)))).runs
    assert (run.input_tokens, run.output_tokens) == (100, 20)


def test_of_several_counts_it_is_not_known_whether_they_add_up() -> None:
    (run,) = rows(*run_of(_request(_counted(100, 20, 1), _counted(150, 30, 2)))).runs
    assert (run.input_tokens, run.output_tokens) == (None, None)


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"events": [_RAISED]}, "error"),
        ({"events": [_RAISED, event("retried", 2)]}, "ok"),
        ({"events": [_RAISED], "result": "done"}, "ok"),
        ({}, "ok"),
    ],
    ids=["raised", "went on", "returned", "silent"],
)
def test_an_execution_that_an_exception_ends_failed(more: dict[str, object], status: str) -> None:
    told: dict[str, object] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "update_record"}
    if result := more.pop("result", None):
        told["gen_ai.tool.call.result"] = result
    (call,) = views_of_spans(run_of(make_span(told, "update_record", **more))).tool_calls
    assert call["status"] == status


def test_an_event_that_names_a_result_tells_nothing_of_it() -> None:
    (call,) = rows(*run_of(_request(event("gen_ai.tool.message", id="c-1")))).model_calls
    assert call.input_values == []


def test_requests_that_only_a_transcript_tells_may_be_told_elsewhere_as_well() -> None:
    transcript = [
        {"role": "user", "content": "Weather in Oslo?"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "c-1", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
            ],
        },
        {"role": "tool", "content": "snow", "tool_call_id": "c-1"},
        {"role": "assistant", "content": "It snows."},
    ]
    told: dict[str, object] = {"gen_ai.operation.name": "invoke_agent", "x.kept": json.dumps(transcript)}
    found = rows(make_span(told, "crew", ended_at=10**9))
    assert len(found.model_calls) == 2
    assert any("only a transcript tells" in problem.reason for problem in found.problems)
