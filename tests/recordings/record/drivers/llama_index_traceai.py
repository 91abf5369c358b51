"""LlamaIndex's agent of function calls with Future AGI's traceAI."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
from llama_index.llms.openai import OpenAI
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS, provider
from traceai_llamaindex import LlamaIndexInstrumentor

traces = provider()
LlamaIndexInstrumentor().instrument(tracer_provider=traces)


async def main():
    llm = OpenAI(model=MODEL, api_base=f"{MODEL_URL}/v1", max_retries=0)
    agent = FunctionAgent(name="orla", tools=TOOLS, llm=llm, system_prompt=INSTRUCTIONS, streaming=False)
    context = Context(agent)
    for turn in TURNS:
        print(await agent.run(turn, ctx=context))


try:
    asyncio.run(main())
finally:
    traces.shutdown()
