"""smolagents' agent of tool calls with the GenAI instrumentations of OpenTelemetry, for it and for its client."""

from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.instrumentation.genai.smolagents import SmolagentsInstrumentor
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS, provider
from smolagents import OpenAIModel, ToolCallingAgent, tool

traces = provider()
OpenAIInstrumentor().instrument(tracer_provider=traces)
SmolagentsInstrumentor().instrument(tracer_provider=traces)
model = OpenAIModel(MODEL, api_base=f"{MODEL_URL}/v1", api_key="none")
agent = ToolCallingAgent(
    [tool(t) for t in TOOLS], model, name="orla", instructions=INSTRUCTIONS, max_steps=10
)
try:
    for number, turn in enumerate(TURNS):
        print(agent.run(turn, reset=number == 0))
finally:
    traces.shutdown()
