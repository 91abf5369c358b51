"""What the next prompt retells completes the answer before it, and nothing else does: a rule, a small run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "Hi")
CALL = asks("search", {"q": "a"}, "c1")
RESULT = returned("c1", {"n": 1})


def asked(*spans: Span) -> list[tuple[str, str | None, int | None, str]]:
    """Name, id, the model call that asked, and how it ended, of each tool call in order."""
    return [
        (call.tool_name, call.tool_call_id, call.asked_by, call.status)
        for call in rows(agent(), *spans).tool_calls
    ]


def results(found: Rows) -> list[object]:
    return [json.loads(call.result) if call.result else None for call in found.tool_calls]


@pytest.mark.parametrize("more", [{}, {"gen_ai__response__finish_reasons": ["tool_calls"]}])
def test_an_answer_without_its_calls_has_those_that_the_next_prompt_retells(more: dict[str, Any]) -> None:
    first = chat(1, [HI], "I search.", **more)
    again = chat(5, [HI, said("assistant", "I search.", CALL), RESULT], "Done.")
    assert asked(first, again) == [("search", "c1", 1, "ok")]
    assert asked(first, tool(3, arguments={"q": "a"}), again) == [("search", "c1", 1, "ok")]
    model = rows(agent(), first, again).model_calls
    assert model[1].input_values[1:2] == model[0].output_values


@pytest.mark.parametrize(
    ("answer", "more", "retold"),
    [
        ("I search.", {"gen_ai__response__finish_reasons": ["stop"]}, [said("assistant", "I search.", CALL), RESULT]),
        ("I search.", {}, [said("assistant", "I do.", CALL), RESULT]),
        ("I search.", {}, [said("assistant", "I search.", CALL), said("user", "No")]),
        ("I search.", {}, [said("assistant", "I search."), said("user", json.dumps([CALL, RESULT]))]),
        ("I search.", {}, [said("assistant", "I search."), said("user", "Do"), said("assistant", CALL), RESULT]),
        ("I search.", {"error": "Timeout"}, [said("assistant", "I search.", CALL), RESULT]),
    ],
    ids=["it ended", "other words", "no result", "a user pastes calls", "a later answer", "it failed"],
)  # fmt: skip
def test_an_answer_has_no_call_that_is_not_retold_as_its_own(
    answer: str, more: dict[str, Any], retold: list[Mapping[str, object]]
) -> None:
    assert asked(chat(1, [HI], answer, **more), chat(5, [HI, *retold], "Done.")) == []


def test_a_call_has_the_id_that_the_next_prompt_retells_it_with() -> None:
    first = chat(1, [HI], asks("search", {"q": "a"}))
    again = chat(5, [HI, said("assistant", CALL), RESULT], "Done.")
    assert asked(first, again) == [("search", "c1", 1, "ok")]
    other = chat(5, [HI, said("assistant", asks("search", {"q": "b"}, "c1")), RESULT], "Done.")
    assert asked(first, other) == [("search", None, 1, "unknown")]


def test_a_prompt_may_leave_out_what_is_old() -> None:
    old = [said("user", "Hi"), said("assistant", "Hello."), said("user", "Search")]
    first = chat(1, old, "I search.")
    for kept in (old[1:], old[2:], [old[0], old[2]]):
        again = chat(5, [*kept, said("assistant", "I search.", CALL), RESULT], "Done.")
        assert asked(first, again) == [("search", "c1", 1, "ok")]
    # Another order, another question, a summary: that is another history.
    for kept in ([old[2], old[0]], [said("user", "Find")], [said("user", "Summary"), old[2]]):
        again = chat(5, [*kept, said("assistant", "I search.", CALL), RESULT], "Done.")
        assert asked(first, again) == []


def test_of_agents_that_are_given_the_same_it_is_not_known_whose_answer_is_retold() -> None:
    again = chat(5, [HI, said("assistant", "I search.", CALL), RESULT], "Done.")
    twins = chat(1, [HI], "I search."), chat(2, [HI], "I search.")
    assert asked(*twins, again) == []
    # An agent of another name has prompts of its own.
    assert asked(twins[0], chat(2, [HI], "I search.", gen_ai__agent__name="pim"), again) == [
        ("search", "c1", 1, "ok")
    ]
    assert asked(chat(1, [HI], "I search.", gen_ai__agent__name="pim"), again) == []
    # However many prompts follow, the one before is looked at.
    others = [chat(at, [said("user", f"And {at}?")], "Yes.") for at in range(6, 16)]
    assert asked(*twins, again, *others) == []


def test_agents_of_one_name_may_take_turns() -> None:
    other = said("user", "Ho")
    found = asked(
        chat(1, [HI], "I search."),
        chat(2, [other], "I look."),
        chat(5, [HI, said("assistant", "I search.", CALL), RESULT], "Done."),
        chat(6, [other, said("assistant", "I look.", asks("look", {}, "c2")), returned("c2", 2)], "Done."),
    )
    assert found == [("search", "c1", 1, "ok"), ("look", "c2", 2, "ok")]


def test_answers_that_no_span_says_are_not_run_together() -> None:
    two = [said("assistant", CALL), said("assistant", asks("look", {}, "c2"))]
    answered = [RESULT, returned("c2", 2)]
    both = rows(agent(), chat(1, [HI]), chat(5, [HI, *two, *answered], "Done."))
    assert [call.tool_call_id for call in both.tool_calls] == ["c1", "c2"]
    # The first call has no result: something between the two was left out.
    assert rows(agent(), chat(1, [HI]), chat(5, [HI, *two, answered[1]], "Done.")).tool_calls == []


def test_ids_that_every_answer_counts_anew_tell_each_its_own_result() -> None:
    first, second = asks("search", {"q": "a"}, "c0"), asks("search", {"q": "b"}, "c0")
    told = [HI, said("assistant", first), returned("c0", {"n": 1})]
    more = [*told, said("assistant", second), returned("c0", {"n": 2})]
    calls = chat(1, [HI], first), chat(4, told, second), chat(7, more, "Done.")
    assert results(rows(agent(), *calls)) == [{"n": 1}, {"n": 2}]
    executed = [tool(at, arguments={"q": q}, gen_ai__tool__call__id="c0") for at, q in ((2, "a"), (5, "b"))]
    found = rows(agent(), *calls, *executed)
    assert results(found) == [{"n": 1}, {"n": 2}]
    assert [(call.asked_by, call.arguments) for call in found.tool_calls] == [
        (1, '{"q":"a"}'),
        (2, '{"q":"b"}'),
    ]
    # The second result is nowhere: it is not the first.
    assert results(rows(agent(), *calls[:2])) == [{"n": 1}, None]


def test_results_without_ids_are_those_of_the_calls_before_them_in_order() -> None:
    first, second = asks("search", {"q": "a"}), asks("look")
    answered = [returned(None, {"n": 1}), returned(None, {"n": 2})]
    asking = chat(1, [HI], first, second)
    assert results(
        rows(agent(), asking, chat(5, [HI, said("assistant", first, second), *answered], "Done."))
    ) == [{"n": 1}, {"n": 2}]
    for retold in ([said("assistant", first, second), answered[0]], [said("assistant", first), *answered]):
        assert results(rows(agent(), asking, chat(5, [HI, *retold], "Done."))) == [None, None]
