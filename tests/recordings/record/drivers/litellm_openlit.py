"""LiteLLM with OpenLIT, in a plain loop below a span of the service's own; no spans for tools."""

import json

import litellm
import openlit
from opentelemetry import trace
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, TURNS, run_tool

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)
messages = [{"role": "system", "content": INSTRUCTIONS}]


def answer(turn):
    messages.append({"role": "user", "content": turn})
    while True:
        reply = litellm.completion(
            model=f"openai/{MODEL}",
            api_base=f"{MODEL_URL}/v1",
            messages=messages,
            tools=CHAT_TOOLS,
            num_retries=0,
            max_retries=0,
        )
        said = reply.choices[0].message
        messages.append(said.model_dump(exclude_none=True))
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
