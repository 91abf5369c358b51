"""Six kinds of change in an agent: each is told with the step and the field, and no tool runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from replay.recorded import SYSTEM, asks, bundle, model_call, tells, text, tool_call

from retrospan.exporter.replay import replay, tool
from retrospan.schemas.bundle.form import Bundle
from retrospan.schemas.errors import ReplayMiss

RAN: list[str] = []
FIRST, SECOND = "Is it cold in Oslo?", "And in Bergen?"


@tool(effect="write")
def note(city: str) -> str:
    RAN.append(city)
    return "noted"


@tool(effect="write", name="jot")
def jot(city: str) -> str:
    RAN.append(city)
    return "noted"


class Agent:
    """Two questions of one conversation, a tool in each. What a test changes of it are its fields."""

    def __init__(self) -> None:
        self.system = SYSTEM
        self.questions = [FIRST, SECOND]
        self.use: Callable[[str], object] = lambda city: note(city=city)

    def run(self) -> None:
        messages: list[dict[str, Any]] = [{"role": "system", "content": self.system}]
        for question in self.questions:
            messages.append({"role": "user", "content": question})
            while (said := self.ask(messages)).get("tool_calls"):
                messages.append(said)
                (call,) = said["tool_calls"]
                result = self.use(json.loads(call["function"]["arguments"])["city"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
            messages.append(said)

    def ask(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        body = {"model": "gpt-4o-mini", "messages": messages}
        found = httpx.post("http://model.invalid/v1/chat/completions", json=body)
        if found.status_code != 200:
            raise RuntimeError(found.text)
        message: dict[str, Any] = found.json()["choices"][0]["message"]
        return message


def recorded() -> Bundle:
    first = [text("user", FIRST), asks("c1", "note", city="Oslo"), tells("c1", "noted")]
    second = [*first, text("assistant", "Yes."), text("user", SECOND)]
    last = [*second, asks("c2", "note", city="Bergen"), tells("c2", "noted")]
    return bundle(
        model_call(1, first[:1], first[1]),
        tool_call(2, "note", {"city": "Oslo"}, "noted", "c1"),
        model_call(3, first, text("assistant", "Yes.")),
        model_call(4, second, last[-2]),
        tool_call(5, "note", {"city": "Bergen"}, "noted", "c2"),
        model_call(6, last, text("assistant", "No.")),
    )


def changed_prompt(agent: Agent) -> None:
    agent.system = "You are Nora."


def renamed_tool(agent: Agent) -> None:
    agent.use = lambda city: jot(city=city)


def changed_argument(agent: Agent) -> None:
    agent.use = lambda city: note(city=city.replace("Bergen", "Bodø"))


def extra_tool_call(agent: Agent) -> None:
    agent.use = lambda city: (note(city=city), note(city=city))[0]


def extra_model_call(agent: Agent) -> None:
    agent.questions.append("Are you sure?")


def missing_tool_call(agent: Agent) -> None:
    agent.use = lambda city: note(city=city) if city == "Oslo" else "skipped"


def missing_question(agent: Agent) -> None:
    agent.questions.pop()


def other_order(agent: Agent) -> None:
    agent.questions.reverse()


def test_the_agent_as_it_was_does_it_again() -> None:
    with replay(recorded()) as r:
        Agent().run()
    assert (r.report.verdict, r.report.answered, r.report.results) == ("identical", [1, 3, 4, 6], [2, 5])
    assert RAN == []


@pytest.mark.parametrize(
    ("change", "step", "field"),
    [
        (changed_prompt, 1, "system[0].content"),
        (renamed_tool, 2, "name"),
        (changed_argument, 5, "note.arguments.city"),
        (extra_tool_call, 2, "calls"),
        (extra_model_call, 6, "messages[7]"),
        (missing_tool_call, 6, "messages[6].parts[0].response"),
        (other_order, 1, "messages[0].parts[0].content"),
    ],
)
def test_a_change_is_told_with_step_and_field(change: Callable[[Agent], None], step: int, field: str) -> None:
    agent = Agent()
    change(agent)
    with pytest.raises(ReplayMiss) as found, replay(recorded()) as r:
        agent.run()
    assert (found.value.step, found.value.field) == (step, field), str(found.value)
    assert r.report.verdict == "parts" and f"step {step}" in "\n".join(r.report.lines())
    assert (r.report.as_json()["step"], r.report.as_json()["field"]) == (step, field)
    assert RAN == []


def test_an_agent_that_stops_early_is_told_which_call_it_did_not_make() -> None:
    agent = Agent()
    missing_question(agent)
    with replay(recorded()) as r:
        agent.run()
    assert (r.report.verdict, r.report.as_json()["step"]) == ("prefix", 4)
    assert "  not made: the model call of step 4 (call 4)" in r.report.lines()
    assert RAN == []
