"""The tools of frameworks are answered at their own boundary: no function of a tool runs, and messages stay the framework's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from agents import Agent as OpenAIAgent
from agents import Runner, function_tool, set_tracing_disabled
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools import tool as langchain_tool
from mcp.client.session import ClientSession
from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from replay.recorded import (
    ANSWER,
    QUESTION,
    SYSTEM,
    asks,
    bundle,
    model_call,
    tells,
    text,
    tool_call,
    weather_bundle,
)

from retrospan.exporter.replay import replay
from retrospan.exporter.replay import tool as retrospan_tool
from retrospan.schemas.bundle.form import Bundle, CallError
from retrospan.schemas.errors import ReplayMiss

RAN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> Any:
    RAN.clear()
    yield
    assert RAN == []


def get_weather(city: str) -> dict[str, int]:
    """Return the weather of a city."""
    RAN.append(city)
    return {"temp_c": 20}


def openai_client() -> AsyncOpenAI:
    return AsyncOpenAI(api_key="none", base_url="http://model.invalid/v1")


def test_openai_agents() -> None:
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("gpt-4o-mini", openai_client())
    agent = OpenAIAgent(name="orla", instructions=SYSTEM, model=model, tools=[function_tool(get_weather)])
    # What the model is told is Python's own text of a value that is none.
    with replay(weather_bundle(told="{'temp_c': -3}")) as r:
        assert asyncio.run(Runner.run(agent, QUESTION)).final_output == ANSWER
    assert (r.report.verdict, r.report.results) == ("identical", [2])


def handed_over(**more: Any) -> Bundle:
    """A triage agent hands over to orla, who answers."""
    asked = [text("user", QUESTION)]
    handed = asks("call_1", "transfer_to_orla")
    told = tells("call_1", '{"assistant": "orla"}')
    return bundle(
        model_call(1, asked, handed),
        tool_call(2, "transfer_to_orla", {}, None, "call_1", **more),
        model_call(3, [*asked, handed, told], text("assistant", ANSWER)),
    )


@pytest.mark.parametrize("more", [{}, {"arguments": None}, {"arguments": "to orla"}], ids=str)
def test_a_handoff_of_openai_agents_is_a_call_that_was_made(more: dict[str, Any]) -> None:
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("gpt-4o-mini", openai_client())
    orla = OpenAIAgent(name="orla", instructions=SYSTEM, model=model)
    triage = OpenAIAgent(name="triage", instructions=SYSTEM, model=model, handoffs=[orla])
    record = handed_over()
    (run,) = record.runs
    calls = tuple(replace(call, **more) if call.n == 2 else call for call in run.calls)
    with replay(replace(record, runs=(replace(run, calls=calls),))) as r:
        assert asyncio.run(Runner.run(triage, QUESTION)).final_output == ANSWER
    assert (r.report.verdict, r.report.unseen) == ("identical", frozenset())


@pytest.mark.parametrize(
    ("told", "verdict"), [("triage", "identical"), ("somebody else", "parts")], ids=["the same", "another"]
)
def test_a_handoff_that_is_on_record_as_a_tool_of_its_own_was_made(told: str, verdict: str) -> None:
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("gpt-4o-mini", openai_client())
    orla = OpenAIAgent(name="orla", instructions=SYSTEM, model=model)
    triage = OpenAIAgent(name="triage", instructions=SYSTEM, model=model, handoffs=[orla])
    record = handed_over()
    (run,) = record.runs
    calls = (*run.calls, tool_call(4, "handoff to orla", told, "orla"))
    with suppress(ReplayMiss), replay(replace(record, runs=(replace(run, calls=calls),))) as r:
        asyncio.run(Runner.run(triage, QUESTION))
    assert r.report.verdict == verdict


def test_an_agent_of_openai_agents_that_is_a_tool_runs_and_is_a_call_that_was_made() -> None:
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("gpt-4o-mini", openai_client())
    expert = OpenAIAgent(name="expert", instructions=SYSTEM, model=model)
    ask = expert.as_tool("ask_expert", "Asks an expert.")
    orla = OpenAIAgent(name="orla", instructions=SYSTEM, model=model, tools=[ask])
    asked, inside = [text("user", QUESTION)], [text("user", "Oslo?")]
    record = bundle(
        model_call(1, asked, asks("call_1", "ask_expert", input="Oslo?")),
        tool_call(2, "ask_expert", {"input": "Oslo?"}, "Snow.", "call_1"),
        model_call(3, inside, text("assistant", "Snow.")),
        model_call(
            4,
            [*asked, asks("call_1", "ask_expert", input="Oslo?"), tells("call_1", "Snow.")],
            text("assistant", ANSWER),
        ),
    )
    with replay(record) as r:
        assert asyncio.run(Runner.run(orla, QUESTION)).final_output == ANSWER
    assert (r.report.verdict, r.report.answered) == ("identical", [1, 3, 4])


def test_pydantic_ai() -> None:
    model = OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(openai_client=openai_client()))
    agent = PydanticAgent(model, name="orla", instructions=SYSTEM, tools=[get_weather])
    with replay(weather_bundle()) as r:
        assert asyncio.run(agent.run(QUESTION)).output == ANSWER
    assert (r.report.verdict, r.report.results) == ("identical", [2])


def call(name: str, call_id: str, **arguments: object) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "id": call_id, "args": arguments}


class OfAClass(BaseTool):
    """A tool that is a class of its own."""

    name: str = "get_weather"
    description: str = "Return the weather."

    def _run(self, city: str) -> str:
        RAN.append(city)
        return "warm"


@pytest.mark.parametrize(
    "made", [langchain_tool(get_weather), StructuredTool.from_function(get_weather), OfAClass()]
)
def test_langchain(made: BaseTool) -> None:
    with replay(weather_bundle()) as r:
        said = made.invoke(call("get_weather", "call_1", city="Oslo"))
    assert isinstance(said, ToolMessage)
    assert (json.loads(str(said.content)), said.tool_call_id) == ({"temp_c": -3}, "call_1")
    assert r.report.results == [2]
    with replay(weather_bundle()):
        said = asyncio.run(made.ainvoke(call("get_weather", "call_1", city="Oslo")))
    assert json.loads(said.content) == {"temp_c": -3}


def test_langchain_calls_beside_each_other_are_told_apart_by_their_ids() -> None:
    made = langchain_tool(get_weather)
    record = bundle(
        tool_call(1, "get_weather", {"city": "Oslo"}, "first", "call_1"),
        tool_call(2, "get_weather", {"city": "Oslo"}, "second", "call_2"),
    )
    with replay(record):
        said = [made.invoke(call("get_weather", f"call_{n}", city="Oslo")).content for n in (2, 1)]
    assert said == ["second", "first"]


def test_a_langchain_tool_that_the_program_calls_is_known_by_its_only_text() -> None:
    """OpenInference records such a call without the name of its argument."""
    made = langchain_tool(get_weather)
    with replay(bundle(tool_call(1, "get_weather", "Oslo", "cold"))) as r:
        assert made.invoke({"city": "Oslo"}) == "cold"
    assert r.report.verdict == "identical"
    with (
        pytest.raises(ReplayMiss, match="Bergen"),
        replay(bundle(tool_call(1, "get_weather", "Oslo", "cold"))),
    ):
        made.invoke({"city": "Bergen"})


@langchain_tool
async def wait_for_weather(city: str) -> str:
    """Return the weather of a city."""
    RAN.append(city)
    return "warm"


@retrospan_tool(name="wait_for_weather")
async def plainly(city: str) -> str:
    RAN.append(city)
    return "warm"


@pytest.mark.parametrize(
    "calling", [lambda: wait_for_weather.ainvoke({"city": "Oslo"}), lambda: plainly("Oslo")]
)
def test_a_tool_that_the_agent_cancelled_waits_to_be_cancelled_again(calling: Callable[[], Any]) -> None:
    async def ask() -> str:
        try:
            return str(await asyncio.wait_for(calling(), 0.01))
        except TimeoutError:
            return "too slow"

    error = CallError(type="asyncio.exceptions.CancelledError", message="")
    with replay(bundle(tool_call(1, "wait_for_weather", {"city": "Oslo"}, None, error=error))) as r:
        assert asyncio.run(ask()) == "too slow"
    assert r.report.verdict == "identical"


def test_a_tool_that_the_agent_no_longer_cancels_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrospan.exporter.replay.tools.cancelled.PATIENCE_SECONDS", 0.0)
    error = CallError(type="CancelledError", message="")
    record = bundle(tool_call(1, "wait_for_weather", {"city": "Oslo"}, None, error=error))
    with (
        pytest.raises(ReplayMiss, match=r"step 1 .* was cancelled .* and is not cancelled now"),
        replay(record),
    ):
        asyncio.run(plainly("Oslo"))


def test_langchain_tools_fail_as_they_did() -> None:
    made = langchain_tool(get_weather)
    error = CallError(type="KeyError", message="Oslo")
    with (
        replay(bundle(tool_call(1, "get_weather", {"city": "Oslo"}, None, "call_1", error=error))),
        pytest.raises(KeyError, match="Oslo"),
    ):
        made.invoke(call("get_weather", "call_1", city="Oslo"))


def test_a_langchain_tool_that_is_not_recorded_is_a_miss() -> None:
    made = langchain_tool(get_weather)
    with pytest.raises(ReplayMiss, match="Bergen"), replay(weather_bundle()):
        made.invoke(call("get_weather", "call_1", city="Bergen"))


def test_a_session_of_mcp_sends_nothing() -> None:
    session = ClientSession.__new__(ClientSession)
    record = bundle(
        tool_call(1, "search", {"q": "a"}, {"rows": 1}),
        tool_call(2, "search", {"q": "b"}, {"content": [{"type": "text", "text": "two"}], "isError": False}),
        tool_call(3, "search", {"q": "c"}, None, error=CallError(type="tool_error", message="no index")),
    )

    async def ask() -> list[Any]:
        return [await session.call_tool("search", {"q": q}) for q in "abc"]

    with replay(record) as r:
        one, two, three = asyncio.run(ask())
    assert json.loads(one.content[0].text) == {"rows": 1}
    assert two.content[0].text == "two"
    assert (three.isError if hasattr(three, "isError") else three.is_error, three.content[0].text) == (
        True,
        "no index",
    )
    assert r.report.verdict == "identical"
