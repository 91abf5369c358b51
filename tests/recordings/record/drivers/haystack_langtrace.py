"""Haystack's agent with Langtrace."""

from langtrace_python_sdk import langtrace

langtrace.init(api_key="none")

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from opentelemetry import trace
from shop import INSTRUCTIONS, MODEL, TOOLS, TURNS

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
