"""Strands Agents with its own spans."""

from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, provider
from strands import Agent, tool
from strands.models.openai import OpenAIModel

traces = provider()
agent = Agent(
    model=OpenAIModel(model_id=MODEL),
    name="orla",
    system_prompt=INSTRUCTIONS,
    tools=[tool(t) for t in TOOLS],
    trace_attributes={"session.id": SESSION},
    callback_handler=None,
)
try:
    for turn in TURNS:
        print(agent(turn))
finally:
    traces.shutdown()
