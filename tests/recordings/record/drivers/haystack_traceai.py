"""Haystack's agent in a pipeline with Future AGI's traceAI, which traces what a pipeline runs."""

from haystack import Pipeline
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from shop import INSTRUCTIONS, MODEL, TOOLS, TURNS, provider
from traceai_haystack import HaystackInstrumentor

traces = provider()
HaystackInstrumentor().instrument(tracer_provider=traces)
agent = Agent(
    chat_generator=OpenAIChatGenerator(model=MODEL, max_retries=0),
    tools=[create_tool_from_function(t) for t in TOOLS],
    system_prompt=INSTRUCTIONS,
    raise_on_tool_invocation_failure=False,
)
pipeline = Pipeline()
pipeline.add_component("orla", agent)
history = []
try:
    for turn in TURNS:
        done = pipeline.run({"orla": {"messages": [*history, ChatMessage.from_user(turn)]}})["orla"]
        history = [m for m in done["messages"] if m.role != "system"]
        print(done["messages"][-1].text)
finally:
    traces.shutdown()
