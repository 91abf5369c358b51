"""Handovers whose spans name no tool: which call each executes, and which spans are none."""

from __future__ import annotations

from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "Hi")
TO_BETA = asks("transfer_to_beta", {}, "c1")
ALPHA: dict[str, Any] = {"gen_ai__agent__name": "alpha"}
BETA: dict[str, Any] = {"gen_ai__agent__name": "beta"}
TOLD = {"now": "beta"}


def handover(at: float = 3, name: str = "handoff to beta", given: str = "", result: str = "") -> Span:
    """Return a tool's span that says nothing, or only the names of agents."""
    said: dict[str, Any] = {"input__value": given, "output__value": result} if given else {}
    return act("", at, name=name, openinference__span__kind="TOOL", **said, **ALPHA)


def asking(*more: dict[str, object]) -> Span:
    return chat(1, [HI], TO_BETA, *more, **ALPHA)


def later(at: float = 5, result: object = TOLD) -> Span:
    told = [returned("c1", result)] if result is not None else []
    return chat(at, [HI, said("assistant", TO_BETA), *told], "Done.", **BETA)


def calls(*spans: Span) -> list[tuple[str, str | None, int | None]]:
    found = rows(agent(), *spans).tool_calls
    return [(call.tool_name, call.tool_call_id, call.asked_by) for call in found]


@pytest.mark.parametrize(
    "span",
    [
        handover(given="alpha", result="beta"),
        handover(),
        handover(name="escalate", given="alpha", result="beta"),  # as the tool is called otherwise
    ],
    ids=["names of both agents", "nothing", "names alone"],
)
def test_what_only_names_agents_executes_the_call_that_hands_over(span: Span) -> None:
    (call,) = rows(agent(), asking(), span, later()).tool_calls
    assert (call.tool_name, call.tool_call_id, call.asked_by) == ("transfer_to_beta", "c1", 1)
    assert (call.span_id, call.arguments, call.result) == (span.span_id, "{}", '{"now":"beta"}')
    assert call.result_source == "message"


def test_where_no_message_tells_the_result_it_is_the_span_s() -> None:
    (call,) = rows(agent(), asking(), handover(given="alpha", result="beta"), later(result=None)).tool_calls
    assert (call.arguments, call.result, call.result_source) == ("{}", "beta", "span")


@pytest.mark.parametrize(
    "spans",
    [
        [asking(), handover(given="gamma", result="beta")],  # another agent than the one that asked
        [asking(), handover(given="alpha", result="gamma")],  # none of the run
        [asking(), handover(given="alpha", result="alpha")],
        [asking(), handover(name="approval")],  # called like something else
        [asking(asks("transfer_to_gamma", {}, "c2")), handover(given="alpha", result="beta")],  # either call
        [asking(), handover(), handover(3.5)],  # either span
        [asking(), handover(1.5)],  # before the answer was there
        [asking(), chat(2.5, [HI], "Hm.", takes=0.2, **ALPHA), handover()],  # another answer is the last one
        [asking(), tool(2.2, "transfer_to_beta", {}, gen_ai__tool__call__id="c1", **ALPHA), handover()],
    ],
    ids=["asked", "handed to", "itself", "name", "calls", "spans", "early", "late", "executed"],
)
def test_what_may_be_something_else_is_a_call_of_its_own(spans: list[Span]) -> None:
    assert any(call[1:] == (None, None) for call in calls(*spans, later()))


def test_what_names_a_tool_or_an_id_is_no_handover() -> None:
    named = tool(3, "handoff to beta", **ALPHA)
    with_id = act(
        "", 3, name="handoff to beta", openinference__span__kind="TOOL", tool_call__id="c7", **ALPHA
    )
    for span in (named, with_id):
        assert [call[0] for call in calls(asking(), span, later())] == ["transfer_to_beta", "handoff to beta"]
