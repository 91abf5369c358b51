"""Of prompts in which only the user speaks, though they repeat answers and results, it is not known who said what."""

from __future__ import annotations

import json
from typing import Any

from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

FIRST, HI = said("user", "You are Orla, be brief."), said("user", "How is Oslo?")
CALL = asks("weather", {"city": "Oslo"}, "c1")
SNOW = {"sky": "snow and wind"}
NOBODY = said("unknown", "You are Orla, be brief.")
EMPTY, TOLD = said("user", ""), said("user", json.dumps(SNOW))
ANSWER = "It snows in Oslo today."


def _prompts(*spans: Span) -> list[list[Any]]:
    found = rows(agent(), *spans)
    texts = {value.number: json.loads(value.json) for value in found.values if value.json}
    return [[texts[number] for number in call.input_values] for call in found.model_calls]


def _oslo(at: float = 3) -> Span:
    return tool(at, "weather", {"city": "Oslo"}, SNOW)


def test_what_was_answered_and_returned_is_not_the_users_and_what_came_first_nobody_knows() -> None:
    first = [FIRST, HI]
    found = _prompts(chat(1, first, CALL), _oslo(), chat(5, [*first, EMPTY, TOLD], ANSWER))
    assert found == [[NOBODY, HI], [NOBODY, HI, said("assistant", CALL), returned("c1", SNOW)]]


def test_the_text_before_a_call_is_the_models() -> None:
    first, text = [FIRST, HI], said("user", "I look outside first.")
    found = _prompts(chat(1, first, CALL), _oslo(), chat(5, [*first, text, TOLD], ANSWER))
    whole = {"type": "text", "content": "I look outside first."}
    assert found[1][2] == {"role": "assistant", "parts": [whole, CALL]}


def test_an_answer_that_a_user_is_said_to_repeat_is_the_models() -> None:
    first = [FIRST, HI]
    more = [*first, said("user", ANSWER), said("user", "And Bergen?")]
    found = _prompts(chat(1, first, ANSWER), chat(5, more, "Rain there."))
    assert found[1] == [NOBODY, HI, said("assistant", ANSWER), said("unknown", "And Bergen?")]


def test_prompts_of_users_that_repeat_nothing_stay_theirs() -> None:
    first = [FIRST, HI]
    spans = chat(1, first, ANSWER), chat(5, [*first, said("user", "And Bergen?")], "Rain there.")
    assert _prompts(*spans) == [first, [*first, said("user", "And Bergen?")]]
    late = chat(1, first, CALL), chat(5, [*first, EMPTY, TOLD], ANSWER), _oslo(8)
    assert _prompts(*late)[0] == first
    others = (
        chat(1, first, ANSWER),
        chat(5, [*first, said("assistant", ANSWER), said("user", ANSWER)], "Yes."),
    )
    assert _prompts(*others)[0] == first


def test_a_short_result_in_json_is_not_the_users_either() -> None:
    first, nothing = [FIRST, HI], said("user", "[]")
    empty = tool(3, "weather", {"city": "Oslo"}, [])
    assert _prompts(chat(1, first, CALL), empty, chat(5, [*first, nothing], ANSWER))[0] == [NOBODY, HI]
    more = [*first, nothing, said("user", "And Bergen?")]
    assert _prompts(chat(1, first, CALL), empty, chat(5, more, ANSWER))[0] == first
    fine, words = tool(3, "weather", {"city": "Oslo"}, "ok"), said("user", "ok")
    assert _prompts(chat(1, first, CALL), fine, chat(5, [*first, words], ANSWER))[0] == first
