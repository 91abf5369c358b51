"""Haystack's agent with OpenLIT."""

import openlit
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from opentelemetry import trace
from shop import INSTRUCTIONS, MODEL, TOOLS, TURNS

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)
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
    trace.get_tracer_provider().shutdown()
