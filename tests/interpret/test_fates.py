"""How executions of tools ended, where their own spans say it in words of their own, or only something inside them does."""

from __future__ import annotations

from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "Remove it.")
CALL = asks("remove", {"path": "x"}, "c1")


def fates(*spans: Span) -> list[tuple[str, str | None, str | None]]:
    """The status and the error of each execution."""
    found = rows(agent(), *spans)
    return [(call.status, call.error_type, call.error_message) for call in found.tool_calls]


def ran(at: float = 3, **more: Any) -> Span:
    return tool(at, "remove", gen_ai__tool__call__id="c1", **more)


@pytest.mark.parametrize(
    ("said_of_it", "status"),
    [
        ({"openclaw__outcome": "blocked"}, "not_executed"),
        ({"tool__decision": "reject"}, "not_executed"),
        ({"tool__outcome": "Denied"}, "not_executed"),
        ({"approved": False}, "not_executed"),
        ({"outcome": "cancelled"}, "incomplete"),
        ({"success": False}, "error"),
        ({"tool__success": "false"}, "error"),
        ({"tool__status": "failed"}, "error"),
        # None of these says that it did not happen.
        ({"tool__decision": "accept"}, "ok"),
        ({"approved": True}, "ok"),
        ({"approval": False}, "ok"),
        ({"success": True}, "ok"),
        ({"outcome": "completed"}, "ok"),
        ({"request__status": "rejected"}, "ok"),
        ({"tool__result__decision": "reject"}, "ok"),
    ],
    ids=str,
)
def test_an_execution_ends_as_its_own_words_say(said_of_it: dict[str, Any], status: str) -> None:
    assert [fate for fate, *_ in fates(chat(1), ran(**said_of_it))] == [status]
    assert [step.status for step in rows(agent(), chat(1), ran(**said_of_it)).steps][1:] == [status]


def test_what_returned_something_was_not_refused() -> None:
    assert [fate for fate, *_ in fates(chat(1), ran(result="gone", tool__decision="reject"))] == ["ok"]
    assert [fate for fate, *_ in fates(chat(1), ran(result="gone", outcome="cancelled"))] == ["ok"]


def test_what_a_model_was_told_of_a_refusal_is_no_execution() -> None:
    told = said("tool", {"type": "tool_call_response", "id": "c1", "response": "Denied.", "is_error": True})
    later = chat(6, [HI, said("assistant", CALL), told], "I may not.")
    (call,) = rows(agent(), chat(1, [HI], CALL), ran(outcome="blocked"), later).tool_calls
    assert (call.status, call.result, call.result_source) == ("not_executed", "Denied.", "message")


def test_success_of_an_agent_is_somebody_s_opinion() -> None:
    assert rows(agent(success=False), chat(1, [HI], "Done.")).runs[0].outcome == "ok"
    assert rows(agent(), chat(1, [HI], "Done.", success=False)).model_calls[0].status == "error"


def test_a_refusal_inside_is_one_of_what_is_around_it() -> None:
    outer = ran(takes=3)
    asked = act("", 3.5, name="waits for the user", inside=outer.span_id, decision="reject", takes=0.5)
    assert [fate for fate, *_ in fates(chat(1), outer, asked)] == ["not_executed"]
    went_on = act("", 4.5, name="works", inside=outer.span_id, takes=0.5)
    assert [fate for fate, *_ in fates(chat(1), outer, asked, went_on)] == ["ok"]
    answered = ran(takes=3, result="gone")
    asked = act("", 3.5, name="waits", inside=answered.span_id, decision="reject", takes=0.5)
    assert [fate for fate, *_ in fates(chat(1), answered, asked)] == ["ok"]


def test_an_execution_fails_with_the_last_one_inside_it() -> None:
    outer = ran(takes=5)
    failed = ran(4, inside=outer.span_id, error="Locked")
    assert fates(chat(1), outer, failed) == [("error", "Locked", None)]
    assert rows(agent(), chat(1), outer, failed).runs[0].errors == 1
    # Tried again, and then it went well: there is nothing wrong, and no error to tell.
    again = ran(6, inside=outer.span_id)
    assert fates(chat(1), outer, failed, again) == [("ok", None, None)]
    # The other way round.
    first, last = ran(4, inside=outer.span_id), ran(6, inside=outer.span_id, error="Locked")
    assert fates(chat(1), outer, first, last) == [("error", "Locked", None)]


def test_an_execution_that_says_how_it_ended_is_believed() -> None:
    well = ran(takes=5, status="ok")
    assert fates(chat(1), well, ran(4, inside=well.span_id, error="Locked")) == [("ok", None, None)]
    returning = ran(takes=5, result="by another way")
    assert fates(chat(1), returning, ran(4, inside=returning.span_id, error="Locked")) == [("ok", None, None)]


def test_a_failure_that_only_a_message_tells_has_the_error_of_what_is_inside() -> None:
    outer = ran(takes=3, result="it is locked")
    told = {"type": "tool_call_response", "id": "c1", "response": "it is locked", "is_error": True}
    later = chat(8, [HI, said("assistant", CALL), said("tool", told)], "It is locked.")
    inner = ran(4, inside=outer.span_id, error="Locked")
    assert fates(chat(1, [HI], CALL), outer, inner, later) == [("error", "Locked", None)]
    plain = chat(8, [HI, said("assistant", CALL), returned("c1", "it is locked")], "It is locked.")
    assert fates(chat(1, [HI], CALL), outer, inner, plain) == [("ok", None, None)]


@pytest.mark.parametrize(
    ("said_of_it", "status"),
    [
        ({"outcome": "blocked"}, "skipped"),
        ({"outcome": "cancelled"}, "unknown"),
        ({"outcome": "done"}, "executed"),
        ({"outcome": "blocked", "retrospan__effect__status": "executed"}, "executed"),
    ],
    ids=str,
)
def test_an_effect_that_was_refused_did_not_happen(said_of_it: dict[str, Any], status: str) -> None:
    found = rows(agent(), chat(1), ran(retrospan__effect="write", **said_of_it))
    assert [effect.effect_status for effect in found.effects] == [status]
