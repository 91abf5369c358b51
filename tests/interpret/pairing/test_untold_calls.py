"""A call that no answer tells is known by its result in the next prompt: that it ran, and under which id, but not its name."""

from __future__ import annotations

import pytest
from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI, SNOW = said("user", "How is Oslo?"), {"sky": "snow"}
FIRST = chat(1, [HI], "I look.")


def listed(*spans: Span) -> list[tuple[str, str | None, str | None, str, int | None]]:
    return [
        (call.tool_name, call.tool_call_id, call.result, call.status, call.asked_by)
        for call in rows(agent(), *spans).tool_calls
    ]


@pytest.mark.parametrize("retold", [[], [said("assistant", "I look.")]], ids=["left out", "told as its text"])
def test_a_result_right_after_an_answer_was_asked_for_by_it(retold: list[dict[str, object]]) -> None:
    last = chat(5, [HI, *retold, returned("c1", SNOW), returned("c2", "Error: no such city")], "Snow.")
    assert listed(FIRST, last) == [
        ("", "c1", '{"sky":"snow"}', "ok", 1),
        ("", "c2", "Error: no such city", "error", 1),
    ]


def test_that_nothing_tells_the_call_itself_is_a_problem() -> None:
    found = rows(agent(), FIRST, chat(5, [HI, returned("c1", SNOW)], "Snow."))
    assert [problem.field for problem in found.problems] == ["input_messages"]
    assert [call.history for call in found.model_calls] == ["full", "full"]


def test_a_later_prompt_that_tells_it_again_adds_no_call() -> None:
    told = [HI, returned("c1", SNOW)]
    assert len(listed(FIRST, chat(5, told, "Hm."), chat(8, [*told, said("assistant", "Hm.")], "Snow."))) == 1


@pytest.mark.parametrize(
    "spans",
    [
        [chat(1, [HI, returned("c1", SNOW)], "Snow."), chat(3, [HI, returned("c1", SNOW)], "Snow again.")],
        [FIRST, chat(5, [HI, returned(None, SNOW)], "Snow.")],
        [FIRST, chat(5, [HI, returned("c1", SNOW)], "Snow.", gen_ai__agent__name="pim")],
        [FIRST, chat(5, [said("user", "Ho"), returned("c1", SNOW)], "Snow.")],
        [chat(1, [HI], error="Timeout"), chat(5, [HI, returned("c1", SNOW)], "Snow.")],
    ],
    ids=["of an earlier turn", "without id", "of another agent", "of another history", "after a failure"],
)
def test_a_result_from_elsewhere_is_no_call(spans: list[Span]) -> None:
    assert listed(*spans) == []


def test_what_ran_on_a_span_is_not_listed_twice() -> None:
    last = chat(5, [HI, returned("c1", SNOW)], "Snow.")
    assert len(listed(FIRST, tool(3, "weather", {"city": "Oslo"}, SNOW), last)) == 1


def test_a_call_that_is_told_has_its_name() -> None:
    call = asks("weather", {"city": "Oslo"}, "c1")
    last = chat(5, [HI, said("assistant", "I look.", call), returned("c1", SNOW)], "Snow.")
    assert [name for name, *_ in listed(FIRST, last)] == ["weather"]
