"""The hook of Pydantic AI on real agents, with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from fix_spans import Sent, events, said
from opentelemetry import context, trace
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from retrospan.exporter.hooks import pydantic_ai as hook
from retrospan.schemas import attributes as names


@dataclass
class Basket:
    items: list[str] = field(default_factory=list)


def clerk(tool: str, **arguments: object) -> Agent[Basket, str | DeferredToolRequests]:
    """An agent whose model asks for one call and then answers."""

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked = sum(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse(
            [TextPart("done") if asked else ToolCallPart(tool, arguments, tool_call_id="c1")]
        )

    agent = Agent(
        FunctionModel(reply), deps_type=Basket, name="clerk", output_type=[str, DeferredToolRequests]
    )

    @agent.tool
    def add_item(ctx: RunContext[Basket], item: str) -> str:
        ctx.deps.items.append(item)
        return f"{item} added"

    @agent.tool(requires_approval=True)
    def pay(ctx: RunContext[Basket], amount: int) -> str:
        ctx.deps.items.append(f"paid {amount}")
        return "paid"

    return agent


@pytest.fixture(autouse=True)
def hooked() -> Iterator[None]:
    hook.install()
    yield
    hook.remove()
    Agent.instrument_all(False)
    assert context.get_current() == {}


def test_the_deps_are_the_state_of_the_run_and_of_each_tool(sent: Sent) -> None:
    result = asyncio.run(clerk("add_item", item="cup").run("a cup, please", deps=Basket()))
    assert result.output == "done"
    root, tool = sent.named("invoke_agent clerk"), sent.named("execute_tool add_item")
    assert (said(root, names.STATE_BEFORE), said(root, names.STATE_AFTER)) == (
        {"items": []},
        {"items": ["cup"]},
    )
    assert (said(tool, names.STATE_BEFORE), said(tool, names.STATE_AFTER)) == (
        {"items": []},
        {"items": ["cup"]},
    )
    assert len([span for span in sent.spans if span.name.startswith("chat")]) == 2


def test_an_approval_is_stated_on_the_run_that_uses_it(sent: Sent) -> None:
    agent = clerk("pay", amount=3)
    first = asyncio.run(agent.run("pay", deps=Basket()))
    assert isinstance(first.output, DeferredToolRequests)
    sent.spans.clear()
    results = DeferredToolResults(approvals={"c1": True})
    second = asyncio.run(
        agent.run(message_history=first.all_messages(), deferred_tool_results=results, deps=Basket())
    )
    assert second.output == "done"
    (approval,) = events(sent.named("invoke_agent clerk"), names.APPROVAL)
    assert approval == {names.APPROVAL_DECISION: "approved", names.APPROVAL_EXPLANATION: '{"call":"c1"}'}
    assert said(sent.named("execute_tool pay"), names.STATE_AFTER) == {"items": ["paid 3"]}


def test_an_agent_that_wants_no_instrumentation_has_none(sent: Sent) -> None:
    agent = clerk("add_item", item="cup")
    agent.instrument = False
    tracer = trace.get_tracer_provider().get_tracer("mine")
    with tracer.start_as_current_span("mine"):
        asyncio.run(agent.run("a cup, please", deps=Basket()))
    assert said(sent.named("mine"), names.STATE_BEFORE) is None, "a span of the program's own is left alone"


def test_without_a_provider_agents_run(no_provider: None) -> None:
    assert asyncio.run(clerk("add_item", item="cup").run("a cup", deps=Basket())).output == "done"
