"""Groq's client with Future AGI's traceAI, in a plain loop inside a span of the service's own; no spans for tools."""

import json

from groq import Groq
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, TURNS, provider, run_tool
from traceai_groq import GroqInstrumentor

traces = provider()
GroqInstrumentor().instrument(tracer_provider=traces)
client = Groq(api_key="none", base_url=MODEL_URL, max_retries=0)
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
        with traces.get_tracer("shop.web").start_as_current_span("POST /chat"):
            print(answer(turn))
finally:
    traces.shutdown()
