"""Without a line of code in the agent: each span of the three frameworks says that it has begun, and what happens in
it, before it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from agents import Agent as OpenAIAgent
from agents import RunConfig, Runner
from exporter.conftest import MakePipeline
from exporter.receiver import Receiver, attributes
from hooks import graphs
from hooks.test_openai_agents import Basket, add_item, answer, call
from hooks.test_openai_agents import clerk as openai_clerk
from hooks.test_pydantic_ai import Basket as PydanticBasket
from hooks.test_pydantic_ai import clerk as pydantic_clerk
from langgraph.types import Command
from opentelemetry import context, trace
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults

from retrospan.exporter.delivery.pipeline import Pipeline
from retrospan.exporter.hooks import langgraph, openai_agents, pydantic_ai
from retrospan.schemas import attributes as names

CONVERSATION = "gen_ai.conversation.id"


@pytest.fixture
def agent(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipeline]:
    """The hooks of all three, and a pipeline behind the process's own provider."""
    built, provider = pipeline()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    for hook in (langgraph, openai_agents, pydantic_ai):
        hook.install()
    yield built
    for hook in (langgraph, openai_agents, pydantic_ai):
        hook.remove()
    Agent.instrument_all(False)
    assert context.get_current() == {}


def begun(receiver: Receiver) -> dict[str, dict[str, Any]]:
    """What each span said at its beginning, by name; every span that ended had begun once."""
    found = receiver.records(names.BEGUN)
    assert sorted(each.span_id for each in found) == sorted(span.span_id for span in receiver.spans())
    return {said[names.BEGUN_NAME]: said for said in (attributes(each.attributes) for each in found)}


def said(receiver: Receiver, event: str) -> list[dict[str, Any]]:
    return [attributes(each.attributes) for each in receiver.records(event)]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_graph_and_its_nodes_have_begun(agent: Pipeline, receiver: Receiver, is_async: bool) -> None:
    shop, config = graphs.shop(asks=True), {"configurable": {"thread_id": "t"}}

    def invoke(given: Any) -> None:
        asyncio.run(shop.ainvoke(given, config)) if is_async else shop.invoke(given, config)

    invoke({"item": "cup"})
    assert agent.flush(10)
    first = begun(receiver)
    assert first.keys() == {"invoke_workflow shop", "look_up", "ask"}
    run_id = first["invoke_workflow shop"][names.RUN_ID]
    assert {each[names.RUN_ID] for each in first.values()} == {run_id}
    assert {each[CONVERSATION] for each in first.values()} == {"t"}
    assert '"item":"cup"' in first["look_up"][names.STATE_BEFORE]
    checkpoints = said(receiver, names.CHECKPOINT)
    assert checkpoints and all(each[names.RUN_ID] == run_id for each in checkpoints)
    receiver.got.clear()
    receiver.got_logs.clear()
    invoke(Command(resume="yes"))
    assert agent.flush(10)
    second = begun(receiver)["invoke_workflow shop"]
    # What it descends from is known where it begins.
    assert second[names.RUN_ORIGIN] == run_id != second[names.RUN_ID]
    assert f'"{names.LINK_TYPE}": "resumes"' in second[names.BEGUN_LINKS]
    assert said(receiver, names.APPROVAL)[0][names.APPROVAL_DECISION] == "yes"


def test_a_run_of_openai_agents_and_its_tools_have_begun(agent: Pipeline, receiver: Receiver) -> None:
    script = (call("add_item", item="cup"), answer("done"))
    config = RunConfig(group_id="chat-1")
    asyncio.run(Runner.run(openai_clerk(*script), "a cup", context=Basket(), run_config=config))
    assert agent.flush(10)
    found = begun(receiver)
    assert found.keys() == {"invoke_agent clerk", "execute_tool add_item"}
    root, tool = found["invoke_agent clerk"], found["execute_tool add_item"]
    assert (root["gen_ai.agent.name"], root[CONVERSATION]) == ("clerk", "chat-1")
    assert root[names.STATE_BEFORE] == '{"items":[]}'
    assert tool[names.RUN_ID] == root[names.RUN_ID] and tool["gen_ai.tool.call.arguments"] == '{"item":"cup"}'
    # The state around a tool is said when it is known.
    states = [each for each in said(receiver, names.STATE_EVENT) if names.STATE_AFTER in each]
    assert states[0][names.STATE_AFTER] == '{"items":["cup"]}'
    assert said(receiver, names.EFFECT_EVENT)[0]["gen_ai.tool.call.result"] == '"cup added"'


def test_a_resumed_run_of_openai_agents_says_what_was_approved(agent: Pipeline, receiver: Receiver) -> None:
    clerk = openai_clerk(call("pay", amount=3), answer("thanks"))
    first = asyncio.run(Runner.run(clerk, "pay", context=Basket()))
    state = first.to_state()
    state.approve(first.interruptions[0])
    asyncio.run(Runner.run(clerk, state))
    assert agent.flush(10)
    assert said(receiver, names.APPROVAL)[0][names.APPROVAL_DECISION] == "approved"
    links = [each.get(names.BEGUN_LINKS, "") for each in said(receiver, names.BEGUN)]
    assert any('"resumes"' in each for each in links)


def test_an_agent_of_pydantic_ai_its_models_and_tools_have_begun(agent: Pipeline, receiver: Receiver) -> None:
    asyncio.run(pydantic_clerk("add_item", item="cup").run("a cup", deps=PydanticBasket()))
    assert agent.flush(10)
    found = begun(receiver)
    assert {"invoke_agent clerk", "execute_tool add_item"} < found.keys()
    assert any(name.startswith("chat") for name in found)
    states = [each for each in said(receiver, names.STATE_EVENT) if names.STATE_AFTER in each]
    assert '{"items":["cup"]}' in {each[names.STATE_AFTER] for each in states}


def test_an_approval_of_pydantic_ai_is_said_at_once(agent: Pipeline, receiver: Receiver) -> None:
    clerk = pydantic_clerk("pay", amount=3)
    first = asyncio.run(clerk.run("pay", deps=PydanticBasket()))
    assert isinstance(first.output, DeferredToolRequests)
    results = DeferredToolResults(approvals={"c1": True})
    asyncio.run(
        clerk.run(message_history=first.all_messages(), deferred_tool_results=results, deps=PydanticBasket())
    )
    assert agent.flush(10)
    assert said(receiver, names.APPROVAL)[0][names.APPROVAL_DECISION] == "approved"


def test_a_run_around_a_framework_reaches_its_spans(agent: Pipeline, receiver: Receiver) -> None:
    from retrospan.exporter import run

    with run("buyer", id="mine", conversation="c"):
        asyncio.run(pydantic_clerk("add_item", item="cup").run("a cup", deps=PydanticBasket()))
        graphs.shop_without_memory().invoke({"item": "cup"})
    assert agent.flush(10)
    assert {each[names.RUN_ID] for each in begun(receiver).values()} == {"mine"}


def test_the_names_of_the_agents_are_the_frameworks(agent: Pipeline, receiver: Receiver) -> None:
    """A span inside a run says the agent that its framework names, not that of the run around it."""
    from retrospan.exporter import run

    inner = OpenAIAgent(name="inner", tools=[add_item], model=openai_clerk(answer("done")).model)
    with run("buyer", conversation="c"):
        asyncio.run(Runner.run(inner, "hello", context=Basket()))
        asyncio.run(pydantic_clerk("add_item", item="cup").run("a cup", deps=PydanticBasket()))
    assert agent.flush(10)
    found = begun(receiver)
    assert found["invoke_agent inner"]["gen_ai.agent.name"] == "inner"
    assert found["invoke_agent clerk"].get("gen_ai.agent.name", "clerk") == "clerk"
