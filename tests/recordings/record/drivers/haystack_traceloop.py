"""Haystack's agent with OpenLLMetry, for Haystack and for the client of the model."""

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from opentelemetry.instrumentation.haystack import HaystackInstrumentor
from opentelemetry.instrumentation.openai import OpenAIInstrumentor
from shop import INSTRUCTIONS, MODEL, TOOLS, TURNS, provider

traces = provider()
HaystackInstrumentor().instrument(tracer_provider=traces)
OpenAIInstrumentor().instrument(tracer_provider=traces)
agent = Agent(
    chat_generator=OpenAIChatGenerator(model=MODEL, max_retries=0),
    tools=[create_tool_from_function(t) for t in TOOLS],
    system_prompt=INSTRUCTIONS,
    raise_on_tool_invocation_failure=False,
)
agent.warm_up()
history = []
try:
    for turn in TURNS:
        done = agent.run(messages=[*history, ChatMessage.from_user(turn)])
        history = [m for m in done["messages"] if m.role != "system"]
        print(done["messages"][-1].text)
finally:
    traces.shutdown()
