"""OpenAI's client with Coralogix's LLM Tracekit, in a plain loop inside a span of the service's own; no spans for tools."""

import json

from llm_tracekit.openai import OpenAIInstrumentor
from openai import OpenAI
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, TURNS, provider, run_tool

traces = provider()
OpenAIInstrumentor().instrument()
client, messages = OpenAI(max_retries=0), [{"role": "system", "content": INSTRUCTIONS}]


def answer(turn):
    messages.append({"role": "user", "content": turn})
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
