"""LlamaIndex's workflow of two agents with OpenInference."""

import asyncio

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.workflow import Context
from llama_index.llms.openai import OpenAI
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TRIAGE, TURNS, provider

traces = provider()
LlamaIndexInstrumentor().instrument(tracer_provider=traces)


async def main():
    llm = OpenAI(model=MODEL, api_base=f"{MODEL_URL}/v1", max_retries=0)
    orla = FunctionAgent(
        name="orla", description="Weather", tools=TOOLS, llm=llm, system_prompt=INSTRUCTIONS, streaming=False
    )
    triage = FunctionAgent(
        name="triage",
        description="Triage",
        tools=[],
        llm=llm,
        system_prompt=TRIAGE,
        can_handoff_to=["orla"],
        streaming=False,
    )
    flow = AgentWorkflow(agents=[triage, orla], root_agent="triage")
    context = Context(flow)
    for turn in TURNS:
        print(await flow.run(turn, ctx=context))


try:
    asyncio.run(main())
finally:
    traces.shutdown()
