"""Mistral's client with Future AGI's traceAI, in a plain loop inside a span of the service's own; no spans for tools."""

import json

from mistralai import Mistral
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, TURNS, provider, run_tool
from traceai_mistralai import MistralAIInstrumentor

traces = provider()
MistralAIInstrumentor().instrument(tracer_provider=traces)
client, messages = (
    Mistral(api_key="none", server_url=MODEL_URL),
    [{"role": "system", "content": INSTRUCTIONS}],
)


def answer(turn):
    messages.append({"role": "user", "content": turn})
    while True:
        said = client.chat.complete(model=MODEL, messages=messages, tools=CHAT_TOOLS).choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            given = call.function.arguments
            result = run_tool(call.function.name, json.loads(given) if isinstance(given, str) else given)
            messages.append(
                {"role": "tool", "name": call.function.name, "tool_call_id": call.id, "content": result}
            )


try:
    for turn in TURNS:
        with traces.get_tracer("shop.web").start_as_current_span("answer"):
            print(answer(turn))
finally:
    traces.shutdown()
