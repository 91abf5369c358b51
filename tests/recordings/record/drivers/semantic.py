"""Semantic Kernel's chat completion agent with its own spans and log records."""

import asyncio
import logging

from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function
from shop import INSTRUCTIONS, MODEL, TOOLS, TURNS, log_provider, provider

traces, logs = provider(), log_provider()
from opentelemetry.sdk._logs import LoggingHandler

logging.getLogger().addHandler(LoggingHandler(logger_provider=logs))
logging.getLogger("semantic_kernel").setLevel(logging.INFO)


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
    traces.shutdown()
    logs.shutdown()
