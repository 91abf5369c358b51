"""Calls that are told by the id of their item have the id by which their results are told, or stay."""

from __future__ import annotations

import json

import pytest
from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "How are Oslo and Bergen?")
SNOW, RAIN = {"sky": "snow"}, {"sky": "rain"}
OSLO = asks("weather", {"city": "Oslo"}, "fc_68a1f0c2")
BERGEN = asks("weather", {"city": "Bergen"}, "fc_68a1f0d3")
CALL_A, CALL_B = "call_3f9a1c77", "call_8e02b456"
RAN = [tool(3, "weather", {"city": "Oslo"}, SNOW), tool(3.2, "weather", {"city": "Bergen"}, RAIN)]


def ids(*spans: Span) -> list[str | None]:
    """Return the ids of the calls that were made, by the order of the cities' names, last first."""
    found = rows(agent(), *spans).tool_calls
    return [call.tool_call_id for call in sorted(found, key=lambda call: str(call.arguments), reverse=True)]


def told(*results: dict[str, object], calls: tuple[dict[str, object], ...] = (OSLO,)) -> list[Span]:
    """Return an answer that asks, and the call after it whose prompt tells the results."""
    prompt = [HI, *(said("assistant", call) for call in calls), *results]
    return [chat(1, [HI], *calls), chat(6, prompt, "Snow.")]


def test_the_id_is_that_of_the_result() -> None:
    found = rows(agent(), *told(returned(CALL_A, SNOW)), *RAN[:1])
    (call,) = found.tool_calls
    assert (call.tool_call_id, json.loads(str(call.result))) == (CALL_A, SNOW)
    texts = [json.loads(value.json) for value in found.values if value.json]
    assert said("assistant", {**OSLO, "id": CALL_A}) in texts
    assert said("assistant", OSLO) not in texts
    assert not found.problems


def test_a_result_that_no_span_returned_is_that_of_the_only_call() -> None:
    assert ids(*told(returned(CALL_A, "Error: locked"))) == [CALL_A]


@pytest.mark.parametrize(
    "results", [(CALL_A, CALL_B), (CALL_B, CALL_A)], ids=["in order", "in another order"]
)
def test_of_several_what_was_returned_says_which_is_whose(results: tuple[str, str]) -> None:
    by_id = {CALL_A: returned(CALL_A, SNOW), CALL_B: returned(CALL_B, RAIN)}
    spans = told(*(by_id[call_id] for call_id in results), calls=(OSLO, BERGEN))
    assert ids(*spans, *RAN) == [CALL_A, CALL_B]


OTHER_CALL = asks("weather", {"city": "Oslo"}, "call_77aa88bb99")


@pytest.mark.parametrize(
    "spans",
    [
        told(returned(CALL_A, SNOW), returned(CALL_B, RAIN), calls=(OSLO, BERGEN)),
        [*told(returned(CALL_A, SNOW), returned(CALL_B, SNOW), calls=(OSLO, BERGEN)), RAN[0],
         tool(3.2, "weather", {"city": "Bergen"}, SNOW)],
        [*told(returned(CALL_A, RAIN)), *RAN],
        told(returned("call_3", SNOW)),
        told(returned(CALL_A, SNOW), calls=(OSLO, BERGEN)),
    ],
    ids=["no spans", "the same from both", "what another returned", "a cut id", "one result of two"],
)  # fmt: skip
def test_where_it_is_not_known_the_ids_stay(spans: list[Span]) -> None:
    texts = [json.loads(value.json) for value in rows(agent(), *spans).values if value.json]
    assert said("assistant", OSLO) in texts


def test_an_id_that_is_no_item_stays() -> None:
    assert ids(*told(returned(CALL_A, "Error"), calls=(OTHER_CALL,)))[0] == OTHER_CALL["id"]
