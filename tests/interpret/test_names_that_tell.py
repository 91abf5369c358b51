"""Names that tell: who speaks, by the name of what is said, and how a workflow is called."""

from __future__ import annotations

import json

import pytest
from made_spans import make_span
from spans import read_run


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"model": "Snow in Oslo."}, [{"type": "text", "content": "Snow in Oslo."}]),
        (
            {"ai": "\"model\": get_weather, \"args\": {'city': 'Oslo'}"},
            [{"type": "tool_call", "name": "get_weather", "arguments": {"city": "Oslo"}}],
        ),
        (
            {"ai": '"model": get_weather, and so on'},
            [{"type": "text", "content": '"model": get_weather, and so on'}],
        ),
    ],
)
def test_an_answer_under_the_name_of_who_speaks(answer: object, expected: list[dict[str, object]]) -> None:
    asked = json.dumps([{"role": "user", "content": "Weather?"}])
    span = make_span(
        {"gen_ai.operation.name": "chat", "some.input": asked, "some.response": json.dumps(answer)}, "chat"
    )
    (call,) = read_run("r", [span]).calls.models
    (message,) = call.span.output
    assert message["parts"] == expected


def test_the_name_of_a_model_is_not_an_answer() -> None:
    span = make_span({"gen_ai.operation.name": "chat", "some.response": '{"model": "m-1"}'}, "chat")
    (call,) = read_run("r", [span]).calls.models
    assert call.span.output == []


def test_a_workflow_is_called_as_an_attribute_calls_it() -> None:
    def named(**attributes: str) -> str | None:
        told = {key.replace("__", "."): value for key, value in attributes.items()}
        span = make_span({"gen_ai.operation.name": "invoke_workflow", **told}, "support.workflow")
        (found,) = read_run("r", [span]).tree.spans
        return found.agent_name

    assert named(some__workflow__name="support") == "support"
    assert named(some__workflow__name="support", gen_ai__workflow__name="orla") == "orla"
    assert named(some__workflow__filename="support") == "support.workflow"


def test_an_agent_is_called_as_the_entity_that_its_span_is_about() -> None:
    asked: dict[str, object] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"}
    agent = make_span({"acme.span.kind": "agent", "acme.entity.name": "orla"}, "orla.agent")
    tool = make_span(
        {"acme.span.kind": "tool", "acme.entity.name": "look"}, "look.tool", parent_span_id=agent.span_id
    )
    call = make_span(asked, "chat", parent_span_id=agent.span_id)
    run = read_run("r", [agent, tool, call])
    assert [span.agent_name for span in run.tree.spans if span.operation == "agent"] == ["orla"]
