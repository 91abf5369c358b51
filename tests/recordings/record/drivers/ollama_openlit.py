"""Ollama's client with OpenLIT, in a plain loop below a span of the service's own; no spans for tools."""

import openlit
from ollama import Client
from opentelemetry import trace
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS, run_tool

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)
client = Client(host=MODEL_URL)
messages = [{"role": "system", "content": INSTRUCTIONS}]


def answer(question):
    messages.append({"role": "user", "content": question})
    while True:
        said = client.chat(model=MODEL, messages=messages, tools=TOOLS).message
        messages.append(said)
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            result = run_tool(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_name": call.function.name, "content": result})


try:
    for turn in TURNS:
        with trace.get_tracer("shop.web").start_as_current_span("POST /chat"):
            print(answer(turn))
finally:
    trace.get_tracer_provider().shutdown()
