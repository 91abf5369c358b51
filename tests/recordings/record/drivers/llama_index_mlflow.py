"""LlamaIndex's agent of function calls with MLflow's tracing, exported over OTLP."""

import asyncio
import os

import mlflow
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
from llama_index.llms.openai import OpenAI
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS

os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
mlflow.llama_index.autolog()


async def main():
    llm = OpenAI(model=MODEL, api_base=f"{MODEL_URL}/v1", max_retries=0)
    agent = FunctionAgent(name="orla", tools=TOOLS, llm=llm, system_prompt=INSTRUCTIONS, streaming=False)
    context = Context(agent)
    for turn in TURNS:
        print(await agent.run(turn, ctx=context))


try:
    asyncio.run(main())
finally:
    mlflow.flush_trace_async_logging(terminate=True)
