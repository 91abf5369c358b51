"""LiteLLM with its callback for Langfuse's OpenTelemetry endpoint, in a loop of one's own; no spans for tools."""

import json
import os
import time

import litellm
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TURNS, run_tool

os.environ["LANGFUSE_PUBLIC_KEY"] = "pk-none"
os.environ["LANGFUSE_SECRET_KEY"] = "sk-none"
os.environ["LANGFUSE_OTEL_HOST"] = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]
litellm.callbacks = ["langfuse_otel"]
messages = [{"role": "system", "content": INSTRUCTIONS}]


def answer(turn):
    messages.append({"role": "user", "content": turn})
    while True:
        reply = litellm.completion(
            model=f"openai/{MODEL}",
            api_base=f"{MODEL_URL}/v1",
            messages=messages,
            tools=CHAT_TOOLS,
            num_retries=0,
            max_retries=0,
            metadata={"trace_name": "orla", "session_id": SESSION, "trace_user_id": "u-17"},
        )
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
    time.sleep(8)  # the callback runs on a thread of its own, and exports in batches
