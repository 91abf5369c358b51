"""Strands Agents with OpenLIT, which adds to the spans that Strands makes."""

import openlit
from opentelemetry import trace
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS
from strands import Agent, tool
from strands.models.openai import OpenAIModel

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)
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
    trace.get_tracer_provider().shutdown()
