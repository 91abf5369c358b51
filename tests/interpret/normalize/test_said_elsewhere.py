"""Facts in events, in words that name them, and in metadata, where no attribute of a known name has them."""

from __future__ import annotations

import pytest
from made_runs import agent, asks, chat, returned, rows, said, tool
from made_spans import event

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "How is Oslo?")


def ran(*told: str) -> Span:
    span = tool(3, "weather", {"city": "Oslo"})
    span.events = [event("tool.output", output=text) for text in told]
    return span


def test_the_only_event_with_an_output_says_what_a_tool_returned() -> None:
    assert [call.result for call in rows(agent(), ran("snow")).tool_calls] == ["snow"]
    assert [call.result for call in rows(agent(), ran("snow", "rain")).tool_calls] == [None]


def test_what_a_span_of_another_kind_would_say_is_not_what_a_tool_returned() -> None:
    told = {"acme__llm_response": "{}", "acme__tool_response": '{"snow": true}'}
    assert [call.result for call in rows(agent(), tool(3, "weather", **told)).tool_calls] == ['{"snow":true}']
    only = tool(3, "weather", acme__tool_response="{}")
    assert [call.result for call in rows(agent(), only).tool_calls] == ["{}"]


def test_an_agent_was_asked_what_an_attribute_calls_the_prompt_of_the_user() -> None:
    told = said("user", "<reminder>Oslo</reminder>", "How is Oslo?")
    assert rows(agent(user_prompt="How is Oslo?"), chat(1, [told], "Snow.")).runs[0].input == "How is Oslo?"
    assert rows(agent(user_prompt_length="12"), chat(1, [HI], "Snow.")).runs[0].input == "How is Oslo?"


@pytest.mark.parametrize(("kind", "answered"), [("response", "m-2024"), ("request", None)])
def test_the_model_among_the_fields_of_a_response_answered(kind: str, answered: str | None) -> None:
    more = {"object": kind, "id": "resp-1", "ls_model_name": "m-2024"}
    fields = {f"langsmith__metadata__{key}": value for key, value in more.items()}
    (call,) = rows(agent(), chat(1, [HI], "Snow.", gen_ai__request__model="alias", **fields)).model_calls
    assert (call.request_model, call.response_model) == ("alias", answered)


def test_an_id_whose_name_says_that_it_is_of_a_call_is_the_calls() -> None:
    named = {"acme__tool__call__id": "c1", "acme__other__id": "c2"}
    assert [call.tool_call_id for call in rows(agent(), tool(3, "weather", **named)).tool_calls] == ["c1"]


@pytest.mark.parametrize(
    ("result", "told", "shown"),
    [
        ({"sky": "snow"}, "[{'sky': 'snow'}]", '[{"sky":"snow"}]'),
        ({}, "[]", "[]"),
        ({"sky": "snow"}, "[{'sky': 'rain'}]", '{"sky":"snow"}'),
        ({"sky": "snow"}, "snow", '{"sky":"snow"}'),
    ],
    ids=["of one", "empty", "of another", "a text"],
)
def test_a_list_that_the_model_was_told_is_what_the_tool_returned(
    result: object, told: str, shown: str
) -> None:
    call = asks("weather", {"city": "Oslo"}, "c1")
    execution = tool(3, "weather", {"city": "Oslo"}, result, gen_ai__tool__call__id="c1")
    last = chat(5, [HI, said("assistant", call), returned("c1", told)], "Snow.")
    (found,) = rows(agent(), chat(1, [HI], call), execution, last).tool_calls
    assert found.result == shown
