"""Anthropic's client with Future AGI's traceAI, in a plain loop inside a span of the service's own; no spans for tools."""

from anthropic import Anthropic
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, TURNS, provider, run_tool
from traceai_anthropic import AnthropicInstrumentor

traces = provider()
AnthropicInstrumentor().instrument(tracer_provider=traces)
client = Anthropic(api_key="none", base_url=MODEL_URL, max_retries=0)
tools = [
    {
        "name": tool["function"]["name"],
        "description": tool["function"]["description"],
        "input_schema": tool["function"]["parameters"],
    }
    for tool in CHAT_TOOLS
]
messages = []


def run(call):
    result = run_tool(call.name, call.input)
    failed = result.startswith("Error")
    return {"type": "tool_result", "tool_use_id": call.id, "content": result, "is_error": failed}


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
        with traces.get_tracer("shop.web").start_as_current_span("POST /chat"):
            print(answer(turn))
finally:
    traces.shutdown()
