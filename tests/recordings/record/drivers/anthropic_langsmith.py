"""Anthropic's client wrapped by LangSmith, in a loop whose agent and tools are traced functions; exported as OTLP."""

from anthropic import Anthropic
from langsmith import traceable
from langsmith.run_trees import get_cached_client
from langsmith.wrappers import wrap_anthropic
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS, RecordLocked, provider

traces = provider()
client = wrap_anthropic(Anthropic(api_key="none", base_url=MODEL_URL, max_retries=0))
tools = [
    {
        "name": tool["function"]["name"],
        "description": tool["function"]["description"],
        "input_schema": tool["function"]["parameters"],
    }
    for tool in CHAT_TOOLS
]
traced = {tool.__name__: traceable(run_type="tool")(tool) for tool in TOOLS}
messages = []


def run(call):
    result = {"type": "tool_result", "tool_use_id": call.id}
    try:
        return {**result, "content": str(traced[call.name](**call.input))}
    except RecordLocked as error:
        return {**result, "content": f"Error: {error}", "is_error": True}


@traceable(name="orla")
def answer(question):
    messages.append({"role": "user", "content": question})
    while True:
        reply = client.messages.create(
            model=MODEL, max_tokens=1024, system=INSTRUCTIONS, messages=messages, tools=tools
        )
        messages.append({"role": "assistant", "content": reply.content})
        calls = [part for part in reply.content if part.type == "tool_use"]
        if not calls:
            return reply.content[-1].text
        messages.append({"role": "user", "content": [run(call) for call in calls]})


try:
    for turn in TURNS:
        print(answer(turn, langsmith_extra={"metadata": {"session_id": SESSION}}))
finally:
    get_cached_client().flush()
    traces.shutdown()
