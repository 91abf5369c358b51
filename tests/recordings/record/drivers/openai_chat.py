"""OpenAI's client over chat completions with OpenInference, whole or streamed, in a plain loop; no spans for tools."""

import json
import os

from openai import OpenAI
from openinference.instrumentation.openai import OpenAIInstrumentor
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, TURNS, provider, run_tool

traces = provider()
OpenAIInstrumentor().instrument(tracer_provider=traces)
client, messages = OpenAI(max_retries=0), [{"role": "system", "content": INSTRUCTIONS}]


def complete():
    asked = {"model": MODEL, "messages": messages, "tools": CHAT_TOOLS}
    if not os.environ.get("KIT_STREAM"):
        return client.chat.completions.create(**asked).choices[0].message
    with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        return stream.get_final_completion().choices[0].message


def answer(turn):
    messages.append({"role": "user", "content": turn})
    while True:
        said = complete()
        messages.append(said.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            result = run_tool(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


try:
    for turn in TURNS:
        with traces.get_tracer("shop.web").start_as_current_span("POST /chat"):
            print(answer(turn))
finally:
    traces.shutdown()
