"""Groq's client with OpenLLMetry, in a loop whose agent and tools are spans of the GenAI conventions."""

import json

from groq import Groq
from opentelemetry.instrumentation.groq import GroqInstrumentor
from opentelemetry.trace import Status, StatusCode
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, TURNS, provider, run_tool

traces = provider()
GroqInstrumentor().instrument(tracer_provider=traces)
tracer = traces.get_tracer("shop.agent")
client = Groq(api_key="none", base_url=MODEL_URL, max_retries=0)
messages = [{"role": "system", "content": INSTRUCTIONS}]


def run(call):
    with tracer.start_as_current_span(f"execute_tool {call.function.name}") as span:
        span.set_attribute("gen_ai.operation.name", "execute_tool")
        span.set_attribute("gen_ai.tool.name", call.function.name)
        span.set_attribute("gen_ai.tool.call.id", call.id)
        result = run_tool(call.function.name, json.loads(call.function.arguments))
        if result.startswith("Error"):
            span.set_status(Status(StatusCode.ERROR, result))
        return result


def answer(question):
    messages.append({"role": "user", "content": question})
    while True:
        reply = client.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS)
        said = reply.choices[0].message
        messages.append(said.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": run(call)})


try:
    for turn in TURNS:
        with tracer.start_as_current_span("invoke_agent orla") as span:
            span.set_attribute("gen_ai.operation.name", "invoke_agent")
            span.set_attribute("gen_ai.agent.name", "orla")
            print(answer(turn))
finally:
    traces.shutdown()
