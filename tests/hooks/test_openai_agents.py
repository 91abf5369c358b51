"""The hook of OpenAI Agents on real runs of the SDK, with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pytest
from agents import Agent, RunConfig, RunContextWrapper, Runner, function_tool, set_tracing_disabled
from agents.testing.model import ScriptedModel
from fix_spans import Sent, events, said, span_id
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from opentelemetry import context, trace

from retrospan.exporter.hooks import openai_agents as hook
from retrospan.schemas import attributes as names

set_tracing_disabled(True)  # else it would send to its maker


@dataclass
class Basket:
    items: list[str] = field(default_factory=list)


@function_tool
def add_item(held: RunContextWrapper[Basket], item: str) -> str:
    """Put an item into the basket."""
    held.context.items.append(item)
    return f"{item} added"


@function_tool(needs_approval=True)
def pay(held: RunContextWrapper[Basket], amount: int) -> str:
    """Pay."""
    held.context.items.append(f"paid {amount}")
    return "paid"


def call(name: str, **arguments: Any) -> Any:
    return [
        ResponseFunctionToolCall(
            arguments=json.dumps(arguments), call_id=f"call_{name}", name=name, type="function_call"
        )
    ]


def answer(text: str) -> Any:
    content = ResponseOutputText(annotations=[], text=text, type="output_text")
    return [
        ResponseOutputMessage(id="m", content=[content], role="assistant", status="completed", type="message")
    ]


def clerk(*script: Any) -> Agent[Basket]:
    return Agent(name="clerk", tools=[add_item, pay], model=ScriptedModel(script))


@pytest.fixture(autouse=True)
def hooked() -> Iterator[None]:
    hook.install()
    yield
    hook.remove()
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert context.get_current() == {}


def test_the_context_is_the_state_of_the_run_and_of_each_tool(sent: Sent) -> None:
    script = (call("add_item", item="cup"), answer("done"))
    config = RunConfig(group_id="chat-1")
    result = asyncio.run(Runner.run(clerk(*script), "a cup, please", context=Basket(), run_config=config))
    assert result.final_output == "done"
    root, tool = sent.named("invoke_agent clerk"), sent.named("execute_tool add_item")
    assert (said(root, names.STATE_BEFORE), said(root, names.STATE_AFTER)) == (
        {"items": []},
        {"items": ["cup"]},
    )
    assert (said(tool, names.STATE_BEFORE), said(tool, names.STATE_AFTER)) == (
        {"items": []},
        {"items": ["cup"]},
    )
    assert said(tool, "gen_ai.tool.call.arguments") == {"item": "cup"}
    assert said(tool, "gen_ai.tool.call.id") == "call_add_item"
    assert said(root, "gen_ai.conversation.id") == "chat-1"
    assert tool.parent is not None and tool.parent.span_id == span_id(root)


def test_another_instrumentation_s_span_of_the_tool_is_annotated(sent: Sent) -> None:
    other = trace.get_tracer_provider().get_tracer("openinference.instrumentation.openai_agents")
    model = ScriptedModel([call("add_item", item="cup"), answer("done")])

    tool_execution: Any = import_module("agents.run_internal.tool_execution")
    ours = tool_execution._invoke_function_tool_with_metadata

    async def spanned(**named: Any) -> Any:
        with other.start_as_current_span("add_item"):
            return await ours(**named)

    tool_execution._invoke_function_tool_with_metadata = spanned
    try:
        asyncio.run(Runner.run(Agent(name="clerk", tools=[add_item], model=model), "x", context=Basket()))
    finally:
        tool_execution._invoke_function_tool_with_metadata = ours
    assert [span.name for span in sent.spans] == ["add_item", "invoke_agent clerk"]
    assert said(sent.spans[0], names.STATE_AFTER) == {"items": ["cup"]}


def test_a_run_that_waits_for_an_approval_is_resumed_by_another(sent: Sent) -> None:
    agent = clerk(call("pay", amount=3), answer("thanks"))
    first = asyncio.run(Runner.run(agent, "pay", context=Basket()))
    assert len(first.interruptions) == 1
    root = sent.named("invoke_agent clerk")
    (waits,) = events(root, "exception")
    assert waits["exception.type"] == hook.INTERRUPT
    assert json.loads(waits["exception.message"]) == [{"tool": "pay", "arguments": '{"amount": 3}'}]
    sent.spans.clear()
    state = first.to_state()
    state.approve(first.interruptions[0])
    second = asyncio.run(Runner.run(agent, state))
    assert second.final_output == "thanks"
    resumed = sent.named("invoke_agent clerk")
    assert [dict(link.attributes or {}) for link in resumed.links] == [
        {names.LINK_TYPE: "resumes", names.RUN_ID: said(root, names.RUN_ID)}
    ]
    assert said(resumed, names.RUN_ORIGIN) == said(root, names.RUN_ID)
    (approval,) = events(resumed, names.APPROVAL)
    assert approval[names.APPROVAL_DECISION] == "approved"
    assert said(sent.named("execute_tool pay"), names.STATE_AFTER) == {"items": ["paid 3"]}


def test_a_streamed_run_lasts_until_its_work_is_done(sent: Sent) -> None:
    async def read() -> None:
        result = Runner.run_streamed(
            clerk(call("add_item", item="cup"), answer("done")), "a cup", context=Basket()
        )
        assert trace.get_current_span() is trace.INVALID_SPAN, "the reader is not inside the run"
        async for _ in result.stream_events():
            pass

    asyncio.run(read())
    assert said(sent.named("invoke_agent clerk"), names.STATE_AFTER) == {"items": ["cup"]}
    assert sent.named("execute_tool add_item").parent is not None


def test_a_failing_model_fails_the_run_as_without_the_hook(sent: Sent) -> None:
    with pytest.raises(RuntimeError, match="no model"):
        asyncio.run(Runner.run(clerk(RuntimeError("no model")), "x", context=Basket()))
    assert not sent.named("invoke_agent clerk").status.is_ok


def test_without_a_provider_runs_work(no_provider: None) -> None:
    result = asyncio.run(
        Runner.run(clerk(call("add_item", item="cup"), answer("done")), "x", context=Basket())
    )
    assert result.final_output == "done"
