"""OpenAI's client with Monocle, in a plain loop that Monocle traces as a method; no spans for tools."""

from monocle_apptrace.instrumentation.common.instrumentor import monocle_trace_method, setup_monocle_telemetry
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

processor = BatchSpanProcessor(OTLPSpanExporter())
setup_monocle_telemetry(workflow_name="orla", span_processors=[processor])

import json

from openai import OpenAI
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, TURNS, run_tool

client, messages = OpenAI(max_retries=0), [{"role": "system", "content": INSTRUCTIONS}]


@monocle_trace_method(span_name="answer")
def answer(question):
    messages.append({"role": "user", "content": question})
    while True:
        reply = client.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS)
        said = reply.choices[0].message
        messages.append(said.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            result = run_tool(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


try:
    for turn in TURNS:
        print(answer(turn))
finally:
    processor.shutdown()
