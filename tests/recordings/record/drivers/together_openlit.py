"""Together's client with OpenLIT, in a plain loop below a span of the service's own; no spans for tools."""

import json

import openlit
from opentelemetry import trace
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, TURNS, run_tool
from together import Together

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)
client = Together(api_key="none", base_url=f"{MODEL_URL}/v1", max_retries=0)
messages = [{"role": "system", "content": INSTRUCTIONS}]


def answer(question):
    messages.append({"role": "user", "content": question})
    while True:
        reply = client.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS)
        said = reply.choices[0].message
        messages.append(said.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            result = run_tool(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


try:
    for turn in TURNS:
        with trace.get_tracer("shop.web").start_as_current_span("POST /chat"):
            print(answer(turn))
finally:
    trace.get_tracer_provider().shutdown()
