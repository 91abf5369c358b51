"""LiteLLM with OpenInference, in a plain loop; no spans for tools."""

import json

import litellm
from openinference.instrumentation.litellm import LiteLLMInstrumentor
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, TURNS, provider, run_tool

traces = provider()
LiteLLMInstrumentor().instrument(tracer_provider=traces)
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
        with traces.get_tracer("shop.web").start_as_current_span("POST /chat"):
            print(answer(turn))
finally:
    traces.shutdown()
