"""Prompts that leave out calls, or tell results barely, are completed where nothing else is possible; else they stay as told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "How is Oslo?")
CALL, OTHER = asks("weather", {"city": "Oslo"}, "c1"), asks("weather", {"city": "Bergen"}, "c2")
SNOW, RAIN = {"sky": "snow"}, {"sky": "rain"}


def counted(given: int, answered: int) -> dict[str, int]:
    return {"gen_ai__usage__input_tokens": given, "gen_ai__usage__output_tokens": answered}


def oslo(at: float = 3, result: object = SNOW, **more: Any) -> Span:
    return tool(at, "weather", {"city": "Oslo"}, result, **more)


def bergen(at: float = 3, result: object = RAIN, **more: Any) -> Span:
    return tool(at, "weather", {"city": "Bergen"}, result, **more)


def prompts(*spans: Span) -> list[tuple[str, list[Any]]]:
    """How the input of each model call is known, and the input."""
    return _prompts(rows(agent(), *spans))


def _prompts(found: Rows) -> list[tuple[str, list[Any]]]:
    texts = {value.number: json.loads(value.json) for value in found.values if value.json}
    return [(call.history, [texts[number] for number in call.input_values]) for call in found.model_calls]


ASKING = chat(1, [HI], CALL, **counted(100, 20))
TOLD = [HI, said("assistant", CALL), returned("c1", SNOW)]
LEFT_OUT = ("full", [HI])
INFERRED = ("inferred", TOLD)


def test_a_prompt_told_as_the_one_before_and_counted_longer_held_the_answer_and_its_results() -> None:
    second = chat(5, [HI], OTHER, **counted(150, 20))
    third = chat(8, [HI], "Snow and rain.", **counted(200, 9))
    found = prompts(ASKING, oslo(), second, bergen(7), third)
    assert found[1] == INFERRED
    assert found[2] == ("inferred", [*TOLD, said("assistant", OTHER), returned("c2", RAIN)])


def test_a_tool_that_failed_may_have_returned_what_the_model_was_told() -> None:
    found = prompts(
        ASKING, oslo(result={"say": "Try again."}, error="Timeout"), chat(5, [HI], OTHER, **counted(150, 20))
    )
    assert found[1] == ("inferred", [*TOLD[:2], returned("c1", {"say": "Try again."})])


@pytest.mark.parametrize(
    ("told", "completed"),
    [('{"sky": "snow"}', True), ('{"sky": "sun"}', False), ("It snows.", True)],
    ids=["what the span says", "another object", "a text"],
)
def test_a_bare_result_is_not_another_object_than_the_tool_returned(told: str, completed: bool) -> None:
    found = prompts(chat(1, [HI], CALL), oslo(), chat(5, [HI, said("tool", told)], "Snow."))
    assert (found[1][0] == "rebuilt") == completed


def test_the_text_before_a_call_may_be_told_alone() -> None:
    first = chat(1, [HI], "I look.", CALL, **counted(100, 20))
    last = chat(5, [HI, said("assistant", "I look.")], "Snow.", **counted(150, 9))
    assert prompts(first, oslo(), last)[1] == (
        "inferred",
        [HI, said("assistant", "I look.", CALL), returned("c1", SNOW)],
    )
    other = chat(5, [HI, said("assistant", "I read.")], "Snow.", **counted(150, 9))
    assert prompts(first, oslo(), other)[1][0] == "full"


@pytest.mark.parametrize(
    "spans",
    [
        [ASKING, oslo(), chat(5, [HI], OTHER, **counted(100, 20))],
        [ASKING, oslo(), chat(5, [HI], OTHER, **counted(110, 20))],
        [ASKING, oslo(), chat(5, [HI], OTHER)],
        [chat(1, [HI], CALL), oslo(), chat(5, [HI], OTHER)],
        [ASKING, oslo(), chat(5, [HI, said("user", "And Bergen?")], OTHER, **counted(150, 20))],
        [ASKING, chat(1.5, [HI], CALL, **counted(100, 20)), oslo(), chat(5, [HI], OTHER, **counted(150, 20))],
        [ASKING, oslo(), oslo(3.5), chat(5, [HI], OTHER, **counted(150, 20))],
        [ASKING, oslo(), bergen(), chat(5, [HI], OTHER, **counted(150, 20))],
        [ASKING, oslo(result=None), chat(5, [HI], OTHER, **counted(150, 20))],
        [ASKING, oslo(result=None, error="Timeout"), chat(5, [HI], OTHER, **counted(150, 20))],
        [ASKING, oslo(takes=9), chat(5, [HI], OTHER, **counted(150, 20))],
        [ASKING, oslo(), chat(5, [HI], OTHER, gen_ai__agent__name="pim", **counted(150, 20))],
        [
            chat(0.1, [said("user", "Ho")], "Yes.", takes=0.5, gen_ai__agent__name="pim"),
            *(ASKING, oslo(), chat(5, [HI], OTHER, **counted(150, 20))),
        ],
        [
            *(ASKING, oslo(), chat(4.2, [said("user", "Ho")], "Yes.", takes=0.5, gen_ai__agent__name="pim")),
            chat(5, [HI], OTHER, **counted(150, 20)),
        ],
        [ASKING, oslo(), chat(5, [HI], error="Timeout", **counted(150, 20)), chat(7, [HI], "Hm.")],
    ],
    ids=[
        "sampled again after the tool ran",
        "longer, but not by the answer",
        "not counted again",
        "not counted",
        "something else was said",
        "sampled twice at once",
        "the tool ran twice",
        "another tool ran as well",
        "its result is not known",
        "it failed",
        "it had not returned",
        "another agent",
        "another agent spoke before",
        "another agent spoke between",
        "tried again after a failure",
    ],
)
def test_a_prompt_stays_as_it_is_told_where_it_may_have_been_so(spans: list[Span]) -> None:
    found = prompts(*spans)
    assert {how for how, _ in found} == {"full"}
    assert all(message["role"] == "user" for _, given in found for message in given)


def test_after_a_prompt_that_is_not_known_none_is_inferred() -> None:
    again = chat(5, [HI], OTHER, **counted(100, 20))
    last = chat(8, [HI], "Rain.", **counted(150, 9))
    found = rows(agent(), ASKING, oslo(), again, bergen(7), last)
    assert _prompts(found) == [LEFT_OUT] * 3
    # That results may be left out is said.
    assert [problem.field for problem in found.problems] == ["input_messages"]


def test_a_conversation_that_had_begun_before_may_have_had_calls() -> None:
    begun = [HI, said("assistant", "Snow."), said("user", "And now?")]
    first, last = chat(1, begun, CALL, **counted(100, 20)), chat(5, begun, "Snow.", **counted(150, 9))
    found = rows(agent(), first, oslo(), last)
    assert _prompts(found) == [("full", begun)] * 2
    assert [problem.field for problem in found.problems] == ["input_messages"]


def test_where_a_prompt_of_the_run_tells_a_call_none_leaves_it_out() -> None:
    other = chat(8, [HI, said("assistant", OTHER), returned("c2", RAIN)], "Rain.", gen_ai__agent__name="pim")
    assert prompts(ASKING, oslo(), chat(5, [HI], OTHER, **counted(150, 20)), other)[1] == LEFT_OUT


def bare(*results: str, role: str = "tool") -> list[dict[str, object]]:
    return [said(role, result) for result in results]


def test_results_told_barely_are_those_of_the_calls_before() -> None:
    told = json.dumps(SNOW)
    assert prompts(ASKING, oslo(), chat(5, [HI, *bare(told)], "Snow."))[1] == ("rebuilt", TOLD)
    # No span of a tool says anything else.
    assert prompts(ASKING, chat(5, [HI, *bare(told)], "Snow."))[1] == ("rebuilt", TOLD)


def test_a_result_is_not_that_of_a_call_whose_execution_returned_another() -> None:
    both = chat(1, [HI], CALL, OTHER)
    in_order = chat(5, [HI, *bare(json.dumps(SNOW), json.dumps(RAIN))], "Well.")
    assert prompts(both, oslo(), bergen(), in_order)[1][0] == "rebuilt"
    swapped = chat(5, [HI, *bare(json.dumps(RAIN), json.dumps(SNOW))], "Well.")
    found = rows(agent(), both, oslo(), bergen(), swapped)
    assert _prompts(found)[1][0] == "full"
    assert found.problems
    # Without spans it is not known in which order they came.
    assert prompts(both, in_order)[1][0] == "full"


def test_of_two_that_were_given_the_same_it_is_not_known_whose_answer_is_completed() -> None:
    twins = chat(1, [HI], CALL), chat(1.2, [HI], OTHER)
    told = chat(5, [HI, *bare(json.dumps(SNOW))], "Snow.")
    assert prompts(*twins, oslo(), bergen(), told)[2][0] == "full"
    # One that failed gave no answer that could be repeated.
    failed = chat(0.5, [HI], error="Timeout", takes=0.2)
    assert prompts(failed, ASKING, oslo(), told)[2] == ("rebuilt", TOLD)


@pytest.mark.parametrize(
    ("text", "between", "is_result"),
    [
        (json.dumps(SNOW), [oslo()], True),
        (json.dumps(RAIN), [oslo()], False),
        (json.dumps(SNOW), [], False),
        ("Be brief.", [oslo()], False),
        (json.dumps(SNOW), [oslo(), oslo(3.5)], False),
        (json.dumps(SNOW), [oslo(takes=9)], False),
        ("Error: Timeout", [oslo(result=None, error="Timeout")], False),
    ],
    ids=["as its span says", "another", "no span", "a note", "two executions", "still at work", "not its error"],
)  # fmt: skip
def test_who_is_unknown_is_a_tool_where_its_span_says_just_that(
    text: str, between: list[Span], is_result: bool
) -> None:
    found = rows(agent(), ASKING, *between, chat(5, [HI, *bare(text, role="unknown")], "Snow."))
    if is_result:
        assert _prompts(found)[1] == ("rebuilt", TOLD)
        assert not found.problems
    else:
        assert _prompts(found)[1] == ("full", [HI, *bare(text, role="unknown")])
        assert "it is not known who said this" in "".join(problem.reason for problem in found.problems)


def test_a_failure_told_by_an_unknown_voice_is_the_one_that_the_span_of_the_tool_has() -> None:
    failed = oslo(result=None, error="Locked")
    failed.status, failed.status_message = "error", "the record is locked"
    found = prompts(
        ASKING, failed, chat(5, [HI, *bare("Error: the record is locked", role="unknown")], "No.")
    )
    assert found[1] == ("rebuilt", [*TOLD[:2], returned("c1", "Error: the record is locked")])


def nameless(part: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in part.items() if key != "id"}


@pytest.mark.parametrize(
    ("told", "ids"),
    [
        (
            [said("assistant", nameless(CALL), nameless(OTHER)), returned(None, SNOW), returned(None, RAIN)],
            ["c1", "c2"],
        ),
        ([said("assistant", nameless(CALL), nameless(OTHER)), returned(None, SNOW)], [None]),
        (
            [said("assistant", nameless(OTHER), nameless(CALL)), returned(None, SNOW), returned(None, RAIN)],
            [None, None],
        ),
        (
            [said("assistant", nameless(CALL), nameless(OTHER)), *[returned(None, SNOW)] * 3],
            [None, None, None],
        ),
    ],
    ids=["the same calls", "fewer results", "other calls", "more results"],
)
def test_calls_and_results_told_without_ids_have_those_of_the_answer_that_they_repeat(
    told: list[dict[str, object]], ids: list[str | None]
) -> None:
    found = prompts(chat(1, [HI], CALL, OTHER), chat(5, [HI, *told], "Snow and rain."))
    results = [part for message in found[1][1] for part in message["parts"] if "response" in part]
    assert [part.get("id") for part in results] == ids
