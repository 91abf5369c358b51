"""LiveKit's agent in a session of text alone, with the spans of LiveKit's own telemetry."""

import asyncio
import functools

from livekit.agents import Agent, AgentSession, APIConnectOptions, ToolError, function_tool
from livekit.agents.telemetry import set_tracer_provider
from livekit.agents.voice.agent_session import SessionConnectOptions
from livekit.plugins import openai
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS, RecordLocked, provider

traces = provider()
set_tracer_provider(traces)


def tool_of(function):
    @functools.wraps(function)
    async def run(*arguments):
        try:
            return function(*arguments)
        except RecordLocked as error:
            raise ToolError(str(error)) from error

    return function_tool(run)


async def main():
    model = openai.LLM(model=MODEL, base_url=f"{MODEL_URL}/v1", api_key="none")
    orla = Agent(id="orla", instructions=INSTRUCTIONS, tools=[tool_of(tool) for tool in TOOLS])
    once = SessionConnectOptions(llm_conn_options=APIConnectOptions(max_retry=0))
    async with AgentSession(llm=model, max_tool_steps=10, conn_options=once) as session:
        await session.start(orla)
        for turn in TURNS:
            done = await session.run(user_input=turn)
            print(done.events[-1].item.text_content)


try:
    asyncio.run(main())
finally:
    traces.shutdown()
