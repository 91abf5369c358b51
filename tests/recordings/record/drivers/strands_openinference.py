"""Strands Agents with OpenInference, which rewrites the spans that Strands makes."""

from openinference.instrumentation.strands_agents import StrandsAgentsToOpenInferenceProcessor
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, _exporter
from strands import Agent, tool
from strands.models.openai import OpenAIModel

traces = TracerProvider(resource=Resource.create())
traces.add_span_processor(StrandsAgentsToOpenInferenceProcessor())
traces.add_span_processor(BatchSpanProcessor(_exporter("Span")))
trace.set_tracer_provider(traces)
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
