"""What tools returned is theirs, also where a prompt tells it as the words of the user."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "How is Oslo?")
CALL, OTHER = asks("weather", {"city": "Oslo"}, "c1"), asks("weather", {"city": "Bergen"}, "c2")
SNOW = {"sky": "snow"}
PRINTED, TOLD = said("user", str(SNOW)), [HI, said("assistant", CALL), returned("c1", SNOW)]
ASKING = chat(1, [HI], CALL)


def _last(*spans: Span) -> list[Any]:
    """The prompt of the last model call."""
    found = rows(agent(), *spans)
    texts = {value.number: json.loads(value.json) for value in found.values if value.json}
    return [texts[number] for number in found.model_calls[-1].input_values]


def oslo(at: float = 3) -> Span:
    return tool(at, "weather", {"city": "Oslo"}, SNOW)


def test_a_text_of_the_user_that_the_called_tool_returned_is_its_result() -> None:
    for told in (PRINTED, said("user", '{"sky": "snow"}'), said("user", "{'result': {'sky': 'snow'}}")):
        found = _last(ASKING, oslo(), chat(5, [HI, said("assistant", CALL), told], "Snow."))
        assert found[2]["role"] == "tool"
        assert found[2]["parts"][0]["id"] == "c1"


def test_it_is_found_among_calls_made_together_in_any_order() -> None:
    both = [HI, said("assistant", CALL), said("assistant", OTHER)]
    rain = said("user", "{'sky': 'rain'}")
    found = _last(
        chat(1, [HI], CALL, OTHER),
        oslo(),
        tool(3.5, "weather", {"city": "Bergen"}, {"sky": "rain"}),
        chat(5, [*both, rain, PRINTED], "Snow and rain."),
    )
    assert found[3:] == [returned("c2", {"sky": "rain"}), returned("c1", SNOW)]


def test_what_a_tool_failed_with_is_its_result() -> None:
    failed = replace(tool(3, "weather", {"city": "Oslo"}, error="Locked"), status_message="station is locked")
    found = _last(
        ASKING,
        failed,
        chat(5, [HI, said("assistant", CALL), said("user", "Error: station is locked")], "No."),
    )
    assert found[2] == returned("c1", "Error: station is locked")


def test_an_object_of_an_earlier_run_is_a_result_where_one_of_this_run_is_known() -> None:
    earlier = [HI, said("assistant", OTHER), said("user", "{'sky': 'rain'}"), said("assistant", "Rain.")]
    asked = [*earlier, said("user", "And Oslo?")]
    spans = chat(1, asked, CALL), oslo(), chat(5, [*asked, said("assistant", CALL), PRINTED], "Snow.")
    assert _last(*spans)[2] == returned("c2", {"sky": "rain"})
    assert _last(*spans)[-1] == returned("c1", SNOW)
    assert _last(spans[0])[2]["role"] == "user"


def test_what_nothing_confirms_stays_the_users() -> None:
    words = said("user", "Stop, please.")
    assert _last(ASKING, oslo(), chat(5, [HI, said("assistant", CALL), words], "Yes."))[2] == words
    other = said("user", "{'sky': 'fog'}")
    assert _last(ASKING, oslo(), chat(5, [HI, said("assistant", CALL), other], "Fog."))[2] == other
    late = chat(5, [HI, said("assistant", CALL), PRINTED], "Snow.")
    assert _last(ASKING, oslo(7), late)[2] == PRINTED


def test_what_a_user_says_after_an_answer_stays_the_users() -> None:
    whole = [*TOLD, said("assistant", "Snow."), PRINTED]
    assert _last(ASKING, oslo(), chat(5, whole, "As I said."))[-1] == PRINTED
    nothing = chat(5, [HI, said("assistant", asks("weather", {"city": "Rome"}, "c9")), PRINTED], "Snow.")
    assert _last(ASKING, oslo(), nothing)[2] == PRINTED
