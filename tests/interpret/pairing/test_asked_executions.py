"""Whose execution one without a call id is, where agents at work side by side asked for the same."""

from __future__ import annotations

from typing import Any

import pytest
from doubted import doubts
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

SAME = {"city": "Oslo"}
UNCLEAR = ("tool_call_id", "agents asked for this alike, and nothing tells for which of them it ran")


def branch(number: int, operation: str = "invoke_agent", name: str = "") -> Span:
    named = {"gen_ai__agent__name": name} if name else {}
    return act(operation, 0.5, takes=50, span_id=f"{number:016x}", name=name or "node", **named)


def asking(at: float, call_id: str | None, **more: object) -> Span:
    """Return a request that was told of its own task, and asks as others do."""
    return chat(at, [said("user", f"Task {call_id}")], asks("search", SAME, call_id), **more)


def told(at: float, call_id: str, result: str, **more: object) -> Span:
    given = [said("user", f"Task {call_id}"), said("assistant", asks("search", SAME, call_id))]
    return chat(at, [*given, returned(call_id, result)], "Done.", **more)


def executions(*spans: Span) -> list[tuple[str | None, int | None, str | None, str]]:
    """Call id, the request that asked, result, and how it ended, of each call in order."""
    found = rows(agent(), *spans).tool_calls
    return [(call.tool_call_id, call.asked_by, call.result, call.status) for call in found]


@pytest.mark.parametrize("operation", ["invoke_agent", ""])
@pytest.mark.parametrize("first", [0, 1])
def test_what_ran_in_a_branch_was_asked_for_in_it(operation: str, first: int) -> None:
    """Whoever ran first: what another branch was told is not the result of an execution that failed in this one."""
    spans: list[Span] = []
    for place, number in enumerate((500, 501)):
        inside = {"inside": f"{number:016x}"}
        late = 0.1 * (place != first)
        failed = {"error": "ValueError"} if place else {}
        result = None if place else "sun"
        spans += [
            branch(number, operation),
            asking(1 + 0.1 * place, f"c{place}", **inside),
            tool(3 + late, arguments=SAME, result=result, **failed, **inside),
            told(5 + 0.1 * place, f"c{place}", "no price" if place else "sun", **inside),
        ]
    mine, theirs = ("c0", 1, "sun", "ok"), ("c1", 2, "no price", "error")
    assert executions(*spans) == ([theirs, mine] if first else [mine, theirs])


def test_the_innermost_branch_goes_before_those_around_it() -> None:
    outer, inner = branch(500), act("", 0.6, takes=40, span_id=f"{501:016x}", inside=f"{500:016x}")
    below = {"inside": inner.span_id}
    found = executions(
        outer,
        inner,
        asking(1, "c0", **below),
        asking(1.1, "c1", inside=outer.span_id),
        tool(3, arguments=SAME, **below),
        tool(4, arguments=SAME, inside=outer.span_id),
    )
    assert [call[:2] for call in found] == [("c0", 1), ("c1", 2)]


def test_where_a_parent_never_came_the_branches_tell_nothing() -> None:
    """The last request may have been in the branch of the execution as well."""
    asked = asking(1, "c0", inside=f"{500:016x}"), asking(3, "c1", inside=f"{999:016x}")
    found = executions(branch(500), *asked, tool(5, arguments=SAME, inside=f"{500:016x}"))
    assert found[-1][:2] == ("c1", 2)


def test_an_agent_s_own_request_goes_before_another_s_but_not_before_one_of_nobody_known() -> None:
    named: dict[str, Any] = {"gen_ai__agent__name": "alpha"}
    nobody = chat(3, [said("user", "Task c1")], asks("search", SAME, "c1"), parent_span_id="")
    nobody.attributes = {key: said for key, said in nobody.attributes.items() if key != "gen_ai.agent.name"}
    own = asking(1, "c0", parent_span_id="", **named)
    found = rows(own, nobody, tool(5, arguments=SAME, parent_span_id="", **named)).tool_calls
    assert [call.tool_call_id for call in found if call.span_id] == ["c1"]


def test_a_branch_of_its_own_for_tools_changes_nothing() -> None:
    """Nodes of a graph: one that asks, one that executes. Of two that ask one after the other, the last one tries again."""
    first, tools, second = (branch(number, "") for number in (500, 501, 502))
    asked = asking(1, "c0", inside=first.span_id), asking(3, "c1", inside=second.span_id)
    ran = tool(5, arguments=SAME, result="sun", inside=tools.span_id)
    found = executions(first, tools, second, *asked, ran)
    assert found == [("c0", 1, None, "unknown"), ("c1", 2, '"sun"', "ok")]


def test_what_an_agent_ran_was_asked_for_by_it() -> None:
    names = ({"gen_ai__agent__name": name} for name in ("alpha", "beta"))
    alpha, beta = names
    found = executions(
        asking(1, "c0", **alpha),
        asking(1.1, "c1", **beta),
        tool(3, arguments=SAME, **alpha),
        tool(3.1, arguments=SAME, **beta),
    )
    assert [call[:2] for call in found] == [("c0", 1), ("c1", 2)]
    # Another agent than any that asked may run it for them.
    (only,) = executions(asking(1, "c0", **alpha), tool(3, arguments=SAME, gen_ai__agent__name="runner"))
    assert only[:2] == ("c0", 1)


def test_what_an_execution_returned_tells_whose_it_is() -> None:
    spans = [asking(1, "c0"), asking(1.1, "c1"), told(7, "c0", "sun"), told(7.1, "c1", "rain")]
    ran = tool(3, arguments=SAME, error="ValueError"), tool(4, arguments=SAME, result="rain")
    found = executions(*spans, *ran)
    assert found == [("c0", 1, "sun", "error"), ("c1", 2, "rain", "ok")]  # the other one is the rest


def test_where_nothing_tells_whose_it_is_nobody_knows() -> None:
    spans = [asking(1, "c0"), asking(1.1, "c1"), told(7, "c0", "sun"), told(7.1, "c1", "sun")]
    ran = tool(3, arguments=SAME, result="sun"), tool(4, arguments=SAME, error="ValueError")
    unpaired = [*spans, tool(3, arguments=SAME, result="sun"), tool(3.5, arguments=SAME, result="sun")]
    assert executions(*unpaired) == [(None, None, '"sun"', "ok"), (None, None, '"sun"', "ok")]
    assert doubts(agent(), *unpaired) == [UNCLEAR, UNCLEAR]
    assert [call[:2] for call in executions(*spans, *ran)] == [(None, None), (None, None)]


def test_the_last_of_requests_one_after_the_other_tries_again() -> None:
    found = executions(asking(1, "c0"), asking(3, "c1"), tool(5, arguments=SAME), tool(6, arguments=SAME))
    assert [call[:2] for call in found] == [("c1", 2), ("c0", 1)]


def test_one_answer_that_two_spans_tell_is_no_other_asking() -> None:
    twice = asking(1, "c0"), asking(1.1, "c0", scope="other")
    assert executions(*twice, tool(3, arguments=SAME))[0][0] == "c0"
