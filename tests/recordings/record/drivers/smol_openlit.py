"""smolagents' agent of tool calls with OpenLIT."""

import openlit
from opentelemetry import trace
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS
from smolagents import OpenAIModel, ToolCallingAgent, tool

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)
model = OpenAIModel(MODEL, api_base=f"{MODEL_URL}/v1", api_key="none")
agent = ToolCallingAgent(
    [tool(t) for t in TOOLS], model, name="orla", instructions=INSTRUCTIONS, max_steps=10
)
try:
    for number, turn in enumerate(TURNS):
        print(agent.run(turn, reset=number == 0))
finally:
    trace.get_tracer_provider().shutdown()
