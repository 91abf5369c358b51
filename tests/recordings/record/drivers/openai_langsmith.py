"""OpenAI's client wrapped by LangSmith, in a loop whose agent and tools are traced functions; exported as OTLP."""

import json

from langsmith import traceable
from langsmith.run_trees import get_cached_client
from langsmith.wrappers import wrap_openai
from openai import OpenAI
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, RecordLocked, provider

traces = provider()
client = wrap_openai(OpenAI(max_retries=0))
traced = {tool.__name__: traceable(run_type="tool")(tool) for tool in TOOLS}
messages = [{"role": "system", "content": INSTRUCTIONS}]


def run(call):
    try:
        return json.dumps(traced[call.function.name](**json.loads(call.function.arguments)))
    except RecordLocked as error:
        return f"Error: {error}"


@traceable(name="orla")
def answer(question):
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
        print(answer(turn, langsmith_extra={"metadata": {"session_id": SESSION}}))
finally:
    get_cached_client().flush()
    traces.shutdown()
