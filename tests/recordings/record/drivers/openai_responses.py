"""OpenAI's client over the Responses API with OpenInference, whole or streamed, in a plain loop; no spans for tools."""

import json
import os

from openai import OpenAI
from openinference.instrumentation.openai import OpenAIInstrumentor
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, TURNS, provider, run_tool

traces = provider()
OpenAIInstrumentor().instrument(tracer_provider=traces)
client, items = OpenAI(max_retries=0), []
asked = {
    "model": MODEL,
    "instructions": INSTRUCTIONS,
    "tools": [{"type": "function", **tool["function"]} for tool in CHAT_TOOLS],
}


def respond():
    if not os.environ.get("KIT_STREAM"):
        return client.responses.create(input=items, **asked)
    with client.responses.create(input=items, stream=True, **asked) as stream:
        (whole,) = [event.response for event in stream if event.type == "response.completed"]
    return whole


def answer(turn):
    items.append({"role": "user", "content": turn})
    while True:
        reply = respond()
        items.extend(reply.output)
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return reply.output_text
        for call in calls:
            result = run_tool(call.name, json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


try:
    for turn in TURNS:
        with traces.get_tracer("shop.web").start_as_current_span("POST /chat"):
            print(answer(turn))
finally:
    traces.shutdown()
