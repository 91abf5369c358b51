"""Haystack's agent with Monocle, whose spans go to where the environment says."""

from monocle_apptrace.instrumentation.common.instrumentor import setup_monocle_telemetry
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

processor = BatchSpanProcessor(OTLPSpanExporter())
setup_monocle_telemetry(workflow_name="orla", span_processors=[processor])

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
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
    processor.shutdown()
