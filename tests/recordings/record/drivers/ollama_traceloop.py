"""Ollama's client with OpenLLMetry, in a loop whose agent and tools are Traceloop's decorators."""

import json

from ollama import Client
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS, RecordLocked
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent, tool

Traceloop.init(app_name="orla-support", exporter=OTLPSpanExporter(), telemetry_enabled=False)
client = Client(host=MODEL_URL)
tools = {each.__name__: tool(name=each.__name__)(each) for each in TOOLS}
messages = [{"role": "system", "content": INSTRUCTIONS}]


@agent(name="orla")
def answer(question):
    messages.append({"role": "user", "content": question})
    while True:
        said = client.chat(model=MODEL, messages=messages, tools=TOOLS).message
        messages.append(said)
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            name = call.function.name
            try:
                result = json.dumps(tools[name](**call.function.arguments))
            except RecordLocked as error:
                result = f"Error: {error}"
            messages.append({"role": "tool", "tool_name": name, "content": result})


try:
    for turn in TURNS:
        print(answer(turn))
finally:
    trace.get_tracer_provider().shutdown()
