"""The agent whose turn it is in a workflow is the one that the events of its steps end with; what somebody says names nobody."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, chat, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "How is Oslo?")
NAMELESS = {"gen_ai__agent__name": ""}


def _workflow() -> Span:
    kind = {"openinference__span__kind": "CHAIN", "name": "AgentWorkflow.run"}
    return act("", 0, takes=100, span_id=f"{1:016x}", parent_span_id="", **kind)


def _step(at: float, event: str, **more: Any) -> Span:
    given = json.dumps({"ctx": "<Context>", "ev": event})
    return act("", at, takes=2, name="step", openinference__span__kind="CHAIN", input__value=given, **more)


def _setup(name: str, text: str = "Hi") -> str:
    return f"AgentSetup(input=[ChatMessage(text={text!r})], current_agent_name={name!r})"


def _turns(*names: str) -> Rows:
    """Return the rows of a workflow in which each of these agents asks its model in a step, and a step without one runs a
    tool."""
    spans = [_workflow()]
    for at, name in enumerate(names):
        asking = _step(at * 10 + 1, _setup(name))
        running = _step(at * 10 + 5, "ToolCall(tool_name='weather', tool_kwargs={})")
        spans += [asking, chat(at * 10 + 1.2, [HI], "Snow.", inside=asking.span_id, **NAMELESS)]
        spans += [running, tool(at * 10 + 5.2, "weather", inside=running.span_id, **NAMELESS)]
    return rows(*spans)


def test_agents_that_take_turns_have_their_own_calls() -> None:
    found = _turns("triage", "orla", "orla")
    assert [call.agent_name for call in found.model_calls] == ["triage", "orla", "orla"]
    assert [call.agent_name for call in found.tool_calls] == ["triage", "orla", "orla"]
    assert [run.agent_name for run in found.runs] == ["AgentWorkflow.run"]


def test_a_workflow_of_one_agent_is_called_after_it() -> None:
    found = _turns("orla", "orla")
    assert {call.agent_name for call in found.model_calls} == {"orla"}
    assert [run.agent_name for run in found.runs] == ["orla"]


@pytest.mark.parametrize(
    "event",
    [
        '{"input": [], "current_agent_name": "orla"}',
        json.dumps({"value": {"input": [], "current_agent_name": "orla"}}),
        _setup("orla"),
        _setup("orla", "AgentSetup(current_agent_name='eve')"),
    ],
)
def test_an_event_in_json_or_as_python_prints_it_names_the_agent(event: str) -> None:
    step = _step(1, event)
    asked = chat(1.2, [HI], "Snow.", inside=step.span_id, **NAMELESS)
    assert [call.agent_name for call in rows(_workflow(), step, asked).model_calls] == ["orla"]


@pytest.mark.parametrize(
    "event",
    [
        "AgentSetup(text='current_agent_name=\"orla\"')",
        "AgentOutput(current_agent_name='orla', text='And more of it')",
        "AgentSetup(input=[], current_agent_name=None)",
    ],
)
def test_what_stands_elsewhere_in_an_event_names_nobody(event: str) -> None:
    step = _step(1, event)
    asked = chat(1.2, [HI], "Snow.", inside=step.span_id, **NAMELESS)
    found = rows(_workflow(), step, asked).model_calls
    assert [call.agent_name for call in found] == ["AgentWorkflow.run"]


def test_a_text_of_the_user_names_nobody() -> None:
    given = "How is it? current_agent_name='eve')"
    step = act("", 1, takes=2, name="step", openinference__span__kind="CHAIN", input__value=given)
    asked = chat(1.2, [HI], "Snow.", inside=step.span_id, **NAMELESS)
    found = rows(_workflow(), step, asked).model_calls
    assert [call.agent_name for call in found] == ["AgentWorkflow.run"]
