"""OpenAI's client with Langtrace, in a plain loop below Langtrace's root span; no spans for tools."""

import json

from langtrace_python_sdk import langtrace, with_langtrace_root_span

langtrace.init(api_key="none")

from openai import OpenAI
from opentelemetry import trace
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, TURNS, run_tool

client, messages = OpenAI(max_retries=0), [{"role": "system", "content": INSTRUCTIONS}]


@with_langtrace_root_span("orla")
def answer(question):
    messages.append({"role": "user", "content": question})
    while True:
        reply = client.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS)
        said = reply.choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            result = run_tool(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


try:
    for turn in TURNS:
        print(answer(turn))
finally:
    trace.get_tracer_provider().shutdown()
