"""Results of calls made together that a prompt tells as one text are told apart by what the tools returned, or stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "How are Oslo and Bergen?")
SNOW, RAIN = {"sky": "snow"}, "rain, 6 °C"
CALLS = [asks("weather", {"city": city}, call_id) for city, call_id in (("Oslo", "c1"), ("Bergen", "c2"))]
ASKING = chat(1, [HI], *CALLS)
RAN = [
    tool(3, "weather", {"city": "Oslo"}, SNOW, gen_ai__tool__call__id="c1"),
    tool(3.2, "weather", {"city": "Bergen"}, RAIN, gen_ai__tool__call__id="c2"),
]


def prompt(*spans: Span) -> tuple[str, list[Any]]:
    found = rows(agent(), *spans)
    texts = {value.number: json.loads(value.json) for value in found.values if value.json}
    last = found.model_calls[-1]
    return last.history, [texts[number] for number in last.input_values]


def given(text: object, call_id: str | None = "c2", *more: dict[str, object]) -> Span:
    return chat(6, [HI, said("assistant", *CALLS), returned(call_id, text), *more], "Snow and rain.")


@pytest.mark.parametrize(
    "text",
    ['{"sky": "snow"} rain, 6 °C', '{"sky":"snow"}rain, 6 °C', '{ "sky" : "snow" }\n\nrain, 6 °C\n'],
)
def test_a_text_that_is_both_results_is_two(text: str) -> None:
    both = [HI, said("assistant", *CALLS), returned("c1", SNOW), returned("c2", RAIN)]
    assert prompt(ASKING, *RAN, given(text)) == ("rebuilt", both)


def test_it_is_two_in_later_prompts_as_well() -> None:
    first = given('{"sky": "snow"} rain, 6 °C')
    told = json.loads(str(first.attributes["gen_ai.input.messages"]))
    last = chat(9, [*told, said("assistant", "Snow and rain."), said("user", "Thanks")], "Bye.")
    _, messages = prompt(ASKING, *RAN, first, last)
    assert messages[2:4] == [returned("c1", SNOW), returned("c2", RAIN)]
    assert len(messages) == 6


@pytest.mark.parametrize(
    ("ran", "last"),
    [
        (RAN, given('{"sky": "snow"}')),
        (RAN, given('{"sky": "snow"} rain, 6 °C and wind')),
        (RAN, given('rain, 6 °C {"sky": "snow"}')),
        (RAN, given('{"sky": "sun"} rain, 6 °C')),
        (RAN, given('{"sky": "snow"} rain, 6 °C', "c9")),
        (RAN, given('{"sky": "snow"} rain, 6 °C', "c2", returned("c1", SNOW))),
        (RAN[:1], given('{"sky": "snow"} rain, 6 °C')),
        (
            [*RAN[:1], tool(3.2, "weather", None, RAIN, gen_ai__tool__call__id="c2", error="Timeout")],
            given('{"sky": "snow"} rain, 6 °C'),
        ),
    ],
    ids=["less", "more", "other order", "other value", "other id", "told apart", "not known", "failed"],
)
def test_anything_else_stays_one_text(ran: list[Span], last: Span) -> None:
    told = json.loads(str(last.attributes["gen_ai.input.messages"]))[2]["parts"][0]["response"]
    how, messages = prompt(ASKING, *ran, last)
    assert how == "full"
    responses = [part.get("response") for message in messages for part in message["parts"]]
    assert told in responses or json.loads(told) in responses
