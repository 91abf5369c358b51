"""Semantic Kernel's chat completion agent with MLflow's tracing, exported over OTLP."""

import asyncio
import os

import mlflow
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function
from shop import INSTRUCTIONS, MODEL, TOOLS, TURNS

os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
mlflow.semantic_kernel.autolog()


class Shop:
    """The tools as one plugin."""


for tool in TOOLS:
    setattr(Shop, tool.__name__, staticmethod(kernel_function(tool)))


async def main():
    agent = ChatCompletionAgent(
        service=OpenAIChatCompletion(ai_model_id=MODEL),
        name="orla",
        instructions=INSTRUCTIONS,
        plugins=[Shop()],
    )
    thread = None
    for turn in TURNS:
        answer = await agent.get_response(messages=turn, thread=thread)
        thread = answer.thread
        print(answer)


try:
    asyncio.run(main())
finally:
    mlflow.flush_trace_async_logging(terminate=True)
