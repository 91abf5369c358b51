"""LlamaIndex's agent of function calls with Langtrace."""

import asyncio

from langtrace_python_sdk import langtrace

langtrace.init(api_key="none")

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
from llama_index.llms.openai import OpenAI
from opentelemetry import trace
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS


async def main():
    llm = OpenAI(model=MODEL, api_base=f"{MODEL_URL}/v1", max_retries=0)
    agent = FunctionAgent(name="orla", tools=TOOLS, llm=llm, system_prompt=INSTRUCTIONS, streaming=False)
    context = Context(agent)
    for turn in TURNS:
        print(await agent.run(turn, ctx=context))


try:
    asyncio.run(main())
finally:
    trace.get_tracer_provider().shutdown()
