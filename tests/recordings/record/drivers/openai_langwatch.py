"""OpenAI's client followed by LangWatch, in a loop whose agent is a trace of its and whose tools are spans of its."""

import json
import os
import time

import langwatch
from openai import OpenAI
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, RecordLocked, provider

traces = provider()
langwatch.setup(api_key="none", endpoint_url="http://127.0.0.1:9", tracer_provider=traces)
client = OpenAI(max_retries=0)
traced = {tool.__name__: langwatch.span(type="tool", name=tool.__name__)(tool) for tool in TOOLS}
messages = [{"role": "system", "content": INSTRUCTIONS}]


def run(call):
    try:
        return json.dumps(traced[call.function.name](**json.loads(call.function.arguments)))
    except RecordLocked as error:
        return f"Error: {error}"


@langwatch.trace(name="orla")
def answer(question):
    langwatch.get_current_trace().autotrack_openai_calls(client)
    langwatch.get_current_trace().update(metadata={"thread_id": SESSION})
    messages.append({"role": "user", "content": question})
    while True:
        reply = client.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS)
        said = reply.choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": run(call)})


try:
    for turn in TURNS:
        print(answer(turn))
finally:
    time.sleep(2)
    os._exit(0)  # LangWatch's own exporter would try long to reach its service
