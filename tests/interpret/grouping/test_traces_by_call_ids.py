"""Traces of one turn that are known by the ids of its calls: requests, and executions that have a trace of their own."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from made_spans import ASKS, CALL, make_span, text
from spans import read_runs
from weather_question import GIVEN, RETURNED, in_traces, model_span, require_whole

from retrospan.ingest.interpret.normalize.qualified_ids import given_id
from retrospan.ingest.interpret.spans.span import Span

_ID, _OTHER = "call_9f8e7d6c5b4a", "call_1a2b3c4d5e6f"
_SYSTEM, _QUESTION = text("system", "You are Orla."), text("user", "Weather in Oslo?")
_ANSWER = text("assistant", "It is -3 in Oslo.")


def _asks(*ids: str) -> dict[str, Any]:
    return {**ASKS, "parts": [{**CALL, "id": each} for each in ids]}


def _told(*ids: str) -> list[dict[str, Any]]:
    part: dict[str, Any] = {"type": "tool_call_response", "response": RETURNED}
    return [{"role": "tool", "parts": [{**part, "id": each}]} for each in ids]


def _request(given: list[Any], answer: Any, place: int = 0, **others: Any) -> Span:
    used = ((10, 2), (20, 4))[place]
    return model_span(
        {
            "gen_ai.input.messages": json.dumps([_SYSTEM, *given]),
            "gen_ai.output.messages": json.dumps([answer]),
            "gen_ai.usage.input_tokens": used[0],
            "gen_ai.usage.output_tokens": used[1],
            **others,
        }
    )


def _tool(call_id: str, **others: Any) -> Span:
    return make_span(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.call.arguments": json.dumps(GIVEN),
            "gen_ai.tool.call.result": json.dumps(RETURNED),
        },
        **others,
    )


def _traces(*spans: Span) -> list[list[str]]:
    """Return the traces of each run, by their numbers."""
    return sorted(
        sorted({span.sent.trace_id.lstrip("0") for span in run.tree.spans}) for run in read_runs(spans)
    )


def test_a_trace_that_executes_what_an_answer_asked_for_is_of_its_run() -> None:
    spans = in_traces(
        [
            _request([_QUESTION], _asks(_ID)),
            _tool(_ID),
            _request([_QUESTION, _asks(_ID), *_told(_ID)], _ANSWER, 1),
        ]
    )
    for order in permutations(spans):
        assert _traces(*order) == [["1", "2", "3"]]
    require_whole(spans, call_id=_ID)


def test_a_trace_with_an_id_that_others_have_too_or_that_nobody_asked_for_stays_alone() -> None:
    spans = in_traces([_request([_QUESTION], _asks("c1")), _tool("c1")])
    assert _traces(*spans) == [["1"], ["2"]]
    spans = in_traces([_request([_QUESTION], _asks(_ID)), _tool(_OTHER)])
    assert _traces(*spans) == [["1"], ["2"]]
    # Executions come after the asking.
    spans = in_traces([_tool(_ID), _request([_QUESTION], _asks(_ID))])
    assert _traces(*spans) == [["1"], ["2"]]


def test_two_that_asked_with_one_id_are_not_told_apart() -> None:
    one, other, tool = in_traces(
        [_request([_QUESTION], _asks(_ID)), _request([_QUESTION], _asks(_ID)), _tool(_ID)]
    )
    assert _traces(one, other, tool) == [["1"], ["2"], ["3"]]


@pytest.mark.parametrize("key", ["service", "conversation", "scope"])
def test_an_execution_elsewhere_is_not_of_the_run(key: str) -> None:
    asking, tool = in_traces([_request([_QUESTION], _asks(_ID)), _tool(_ID)])
    if key == "service":
        tool = replace(tool, resource={"service.name": "mail"})
    elif key == "scope":
        tool = replace(tool, scope="another.sdk")
    else:
        tool = replace(tool, attributes={**tool.attributes, "gen_ai.conversation.id": "c-2"})
    assert _traces(asking, tool) == [["1"], ["2"]]


def test_a_history_that_was_cut_goes_on_by_the_ids_of_its_last_calls() -> None:
    first = _request([_QUESTION, _asks(_ID), *_told(_ID)], _asks(_OTHER))
    cut = _request([text("user", "(summary)"), _asks(_OTHER), *_told(_OTHER)], _ANSWER, 1)
    assert _traces(*in_traces([first, cut])) == [["1", "2"]]


def test_prompts_that_retell_only_results_go_on_too() -> None:
    spans = in_traces(
        [
            _request([_QUESTION], _asks(_ID)),
            _request([_QUESTION, *_told(_ID)], _asks(_OTHER), 1),
            _request([_QUESTION, *_told(_ID, _OTHER)], _ANSWER, 1),
        ]
    )
    assert _traces(*spans) == [["1", "2", "3"]]


def test_a_span_inside_that_names_no_conversation_takes_nothing_away() -> None:
    conversation: dict[str, Any] = {"gen_ai.conversation.id": "s-1"}
    spans: list[Span] = []
    for outer in (
        _request([_QUESTION], _asks("c1"), **conversation),
        _request([_QUESTION, _asks("c1"), *_told("c1")], _ANSWER, 1, **conversation),
    ):
        outer = replace(outer, trace_id=f"{len(spans) + 1:032x}", span_id="f" * 16)
        inner = {name: value for name, value in outer.attributes.items() if name not in conversation}
        # It began at the same time, and comes first by its id.
        spans += [
            outer,
            replace(outer, span_id="0" * 15 + "1", parent_span_id=outer.span_id, attributes=inner),
        ]
    assert _traces(*spans) == [["1", "3"]]
    require_whole(spans)


def test_an_id_that_a_client_made_longer_is_the_one_that_prompts_know() -> None:
    longer = f"get_weather__{_ID}"
    spans = in_traces(
        [
            _request([_QUESTION], _asks(longer)),
            _tool(longer),
            _request([_QUESTION, _asks(_ID), *_told(_ID)], _ANSWER, 1),
        ]
    )
    assert _traces(*spans) == [["1", "2", "3"]]
    require_whole(spans, call_id=_ID)


def test_an_id_that_all_know_stays_as_it_is() -> None:
    longer = f"get_weather__{_ID}"
    spans = in_traces(
        [
            _request([_QUESTION], _asks(longer)),
            _request([_QUESTION, _asks(longer), *_told(longer)], _ANSWER, 1),
        ]
    )
    assert _traces(*spans) == [["1", "2"]]
    require_whole(spans, call_id=longer)


@pytest.mark.parametrize(
    ("call_id", "name", "plain"),
    [
        (f"get_weather__{_ID}", "get_weather", _ID),
        (f"get_weather:{_ID}", "get_weather", _ID),
        ("functions.get_weather:0", "get_weather", "functions.get_weather:0"),
        ("get_weather:0", "get_weather", "get_weather:0"),  # a number comes again
        (f"get_weather_today__{_ID}", "get_weather", f"get_weather_today__{_ID}"),
        ("get_weather", "get_weather", "get_weather"),
        (_ID, None, _ID),
    ],
)
def test_only_the_name_of_the_tool_is_taken_from_before_an_id(
    call_id: str, name: str | None, plain: str
) -> None:
    assert given_id(call_id, name) == plain
