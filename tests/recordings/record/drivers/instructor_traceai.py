"""Instructor's client with Future AGI's traceAI, in a plain loop in which answers may be texts, so that they are asked for
without a model of their form. No spans for tools."""

import json

import instructor
from openai import OpenAI
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, TURNS, provider, run_tool
from traceai_instructor import InstructorInstrumentor

traces = provider()
InstructorInstrumentor().instrument(tracer_provider=traces)
client = instructor.from_openai(OpenAI(max_retries=0))
messages = [{"role": "system", "content": INSTRUCTIONS}]


def answer(turn):
    messages.append({"role": "user", "content": turn})
    while True:
        completion = client.chat.completions.create(
            model=MODEL, messages=messages, tools=CHAT_TOOLS, response_model=None
        )
        said = completion.choices[0].message
        if not said.tool_calls:
            messages.append({"role": "assistant", "content": said.content})
            return said.content
        messages.append(said.model_dump(include={"role", "content", "tool_calls"}))
        for call in said.tool_calls:
            result = run_tool(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


try:
    for turn in TURNS:
        with traces.get_tracer("shop.web").start_as_current_span("POST /chat"):
            print(answer(turn))
finally:
    traces.shutdown()
