"""LlamaIndex's agent of function calls with Laminar, whose SDK sends to a Laminar of one's own."""

import asyncio
import os
from urllib.parse import urlsplit

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
from llama_index.llms.openai import OpenAI
from lmnr import Laminar
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS

at = urlsplit(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])
Laminar.initialize(
    project_api_key="none", base_url=f"http://{at.hostname}", http_port=at.port, grpc_port=at.port
)


async def main():
    llm = OpenAI(model=MODEL, api_base=f"{MODEL_URL}/v1", max_retries=0)
    agent = FunctionAgent(name="orla", tools=TOOLS, llm=llm, system_prompt=INSTRUCTIONS, streaming=False)
    context = Context(agent)
    for turn in TURNS:
        print(await agent.run(turn, ctx=context))


try:
    asyncio.run(main())
finally:
    Laminar.flush()
    Laminar.shutdown()
