"""Mistral's client with OpenLIT, in a plain loop below a span of the service's own; no spans for tools."""

import json

import openlit
from mistralai import Mistral
from opentelemetry import trace
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, TURNS, run_tool

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)
client, messages = (
    Mistral(api_key="none", server_url=MODEL_URL),
    [{"role": "system", "content": INSTRUCTIONS}],
)


def answer(turn):
    messages.append({"role": "user", "content": turn})
    while True:
        said = client.chat.complete(model=MODEL, messages=messages, tools=CHAT_TOOLS).choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            given = call.function.arguments
            result = run_tool(call.function.name, json.loads(given) if isinstance(given, str) else given)
            messages.append(
                {"role": "tool", "name": call.function.name, "tool_call_id": call.id, "content": result}
            )


try:
    for turn in TURNS:
        with trace.get_tracer("shop.web").start_as_current_span("answer"):
            print(answer(turn))
finally:
    trace.get_tracer_provider().shutdown()
