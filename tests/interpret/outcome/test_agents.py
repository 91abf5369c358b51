"""The tree of the agents of a run: who called whom, and what each did itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from fix_recordings import load_recording, manifest
from made_spans import make_span
from spans import rows_of_recording, rows_of_spans

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

AGENT = "gen_ai.agent.name"


def agent(named: str | None, span: int, parent: int = 0) -> Span:
    attributes: dict[str, object] = {"gen_ai.operation.name": "invoke_agent"}
    return made(attributes | ({AGENT: named} if named else {}), span, parent, name="invoke_agent")


def chat(span: int, parent: int, asks: Sequence[tuple[str, str]] = (), given: int | None = 10) -> Span:
    parts = [{"type": "tool_call", "id": call_id, "name": name, "arguments": {}} for call_id, name in asks]
    said = [{"role": "assistant", "parts": parts or [{"type": "text", "content": "Done."}]}]
    attributes: dict[str, object] = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": said}
    return made(
        attributes | ({"gen_ai.usage.input_tokens": given} if given is not None else {}), span, parent
    )


def tool(name: str, call_id: str, span: int, parent: int, **more: Any) -> Span:
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call_id,
    }
    return made(attributes, span, parent, **more)


def made(attributes: dict[str, object], span: int, parent: int, **more: Any) -> Span:
    return make_span(
        attributes,
        span_id=f"{span:016x}",
        parent_span_id=f"{parent:016x}" if parent else "",
        started_at=span * 10**9,
        ended_at=span * 10**9 + 10**8,
        **more,
    )


def agents_of(spans: Sequence[Span]) -> list[tuple[object, ...]]:
    (rows,) = rows_of_spans(spans)
    return [
        (
            each.agent_name,
            each.parent_agent_name,
            each.asked_by,
            (each.first_step, each.last_step),
            (each.model_calls, each.tool_calls, each.failures),
            each.input_tokens,
        )
        for each in rows.agents
    ]


RESEARCH = [
    agent("lead", 1),
    chat(2, 1, [("c1", "ask_researcher")]),
    tool("ask_researcher", "c1", 3, 1),
    agent("researcher", 4, 3),
    chat(5, 4, [("c2", "search")], given=None),
    tool("search", "c2", 6, 4, status="error"),
    chat(7, 4, given=None),
    chat(8, 1),
]


def test_an_agent_that_works_inside_a_tool_was_called_by_who_asked_for_it() -> None:
    for spans in (RESEARCH, RESEARCH[::-1], RESEARCH[4:] + RESEARCH[:4]):
        assert agents_of(spans) == [
            ("lead", None, None, (1, 6), (2, 1, 0), 20),
            ("researcher", "lead", 1, (3, 5), (2, 1, 1), None),
        ]


@pytest.mark.parametrize("named", ["subagent_type", "acme.subagent.name", "gen_ai.tool.call.arguments"])
@pytest.mark.parametrize("lead", ["lead", None])
def test_what_is_done_below_a_tool_that_names_an_agent_is_done_by_that_one(
    named: str, lead: str | None
) -> None:
    said = '{"subagent_type": "researcher"}' if named.endswith("arguments") else "researcher"
    asking = tool("ask", "c1", 3, 1)
    asking = replace(asking, attributes={**asking.attributes, named: said})
    spans = [
        agent(lead, 1),
        chat(2, 1, [("c1", "ask")]),
        asking,
        chat(4, 3, [("c2", "search")]),
        tool("search", "c2", 5, 3),
        chat(6, 1),
    ]
    own = [("lead", None, None, (1, 5), (2, 1, 0), 20)] if lead else []
    assert agents_of(spans)[: len(own)] == own
    name, parent, asked_by, _, counted, tokens = agents_of(spans)[-1]
    assert (name, parent, asked_by, counted, tokens) == (
        "researcher",
        lead,
        1 if lead else None,
        (1, 1, 0),
        10,
    )
    assert rows_of_spans(spans)[0].runs[0].agent_name == lead


def test_an_agent_inside_another_without_a_tool_has_a_parent_that_nobody_asked() -> None:
    spans = [agent("lead", 1), chat(2, 1), agent("writer", 3, 1), chat(4, 3)]
    assert agents_of(spans) == [
        ("lead", None, None, (1, 1), (1, 0, 0), 10),
        ("writer", "lead", None, (2, 2), (1, 0, 0), 10),
    ]


def test_an_agent_that_was_handed_the_task_has_the_one_who_handed_it_over() -> None:
    spans = [
        agent(None, 1),
        agent("Triage", 2, 1),
        chat(3, 2, [("c1", "transfer_to_refund_desk")]),
        tool("transfer_to_refund_desk", "c1", 4, 2),
        agent("Refund Desk", 5, 1),
        chat(6, 5),
    ]
    assert [row[:3] for row in agents_of(spans)] == [("Triage", None, None), ("Refund Desk", "Triage", 1)]


def test_a_tool_that_hands_over_to_anyone_says_to_whom_in_its_arguments() -> None:
    asks = [
        {"type": "tool_call", "id": "c1", "name": "transfer_to_agent", "arguments": {"agent_name": "desk"}}
    ]
    said: dict[str, object] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": [{"role": "assistant", "parts": asks}],
    }
    spans = [agent("triage", 1), made(said, 2, 1), agent("desk", 3), chat(4, 3)]
    assert [row[:3] for row in agents_of(spans)] == [("triage", None, None), ("desk", "triage", 1)]


def test_one_agent_under_two_others_is_two_rows_and_one_called_twice_is_one() -> None:
    spans = [
        agent("lead", 1),
        agent("a", 2, 1),
        agent("checker", 3, 2),
        chat(4, 3),
        agent("checker", 5, 1),
        chat(6, 5),
        agent("checker", 7, 1),
        chat(8, 7),
    ]
    assert [(row[0], row[1], row[3]) for row in agents_of(spans)] == [
        ("checker", "a", (1, 1)),
        ("checker", "lead", (2, 3)),
        ("a", "lead", (None, None)),
        ("lead", None, (None, None)),
    ]


def test_an_agent_right_inside_itself_is_not_its_own_parent() -> None:
    spans = [agent("lead", 1), agent("lead", 2, 1), chat(3, 2)]
    assert [row[:2] for row in agents_of(spans)] == [("lead", None)]


def test_what_no_named_agent_did_is_in_no_row() -> None:
    assert agents_of([agent(None, 1), chat(2, 1)]) == []


def test_two_agents_that_hand_the_task_to_each_other_end_and_are_the_same_in_any_order() -> None:
    spans = [
        agent("a", 1),
        chat(2, 1, [("c1", "transfer_to_b")]),
        agent("b", 3),
        chat(4, 3, [("c2", "transfer_to_a")]),
    ]
    found = {str(agents_of(order)) for order in permutations(spans)}
    assert len(found) == 1


@pytest.mark.parametrize("name", sorted(manifest()))
def test_the_acts_of_all_agents_are_those_of_the_run(name: str) -> None:
    for rows in rows_of_recording(load_recording(name)):
        check(rows)


def check(rows: Rows) -> None:
    by_named = [call for call in rows.model_calls if call.agent_name]
    assert sum(agent.model_calls for agent in rows.agents) == len(by_named)
    assert sum(agent.tool_calls for agent in rows.agents) == sum(1 for c in rows.tool_calls if c.agent_name)
    assert sum(agent.input_tokens or 0 for agent in rows.agents) == sum(c.input_tokens or 0 for c in by_named)
    named = {agent.agent_name for agent in rows.agents}
    assert named >= {agent.parent_agent_name for agent in rows.agents} - {None}
    assert named >= {step.agent_name for step in rows.steps} - {None}
    assert len({(agent.agent_name, agent.parent_agent_name) for agent in rows.agents}) == len(rows.agents)
