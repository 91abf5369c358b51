"""BeeAI's requirement agent with OpenInference."""

import asyncio

from openinference.instrumentation.beeai import BeeAIInstrumentor
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS, provider

traces = provider()
# Before the framework is imported: the instrumentation wraps what it emits.
BeeAIInstrumentor().instrument(tracer_provider=traces)


async def main():
    from beeai_framework.adapters.openai import OpenAIChatModel
    from beeai_framework.agents.requirement import RequirementAgent
    from beeai_framework.memory import UnconstrainedMemory
    from beeai_framework.tools import tool

    agent = RequirementAgent(
        name="orla",
        llm=OpenAIChatModel(MODEL, api_key="none", base_url=f"{MODEL_URL}/v1"),
        tools=[tool(t) for t in TOOLS],
        memory=UnconstrainedMemory(),
        instructions=INSTRUCTIONS,
        tool_call_checker=False,
    )
    for turn in TURNS:
        print((await agent.run(turn)).last_message.text)


try:
    asyncio.run(main())
finally:
    traces.shutdown()
