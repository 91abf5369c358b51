"""Anthropic's client with Monocle, in a plain loop that Monocle traces as a method; no spans for tools."""

from monocle_apptrace.instrumentation.common.instrumentor import monocle_trace_method, setup_monocle_telemetry
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

processor = BatchSpanProcessor(OTLPSpanExporter())
setup_monocle_telemetry(workflow_name="orla", span_processors=[processor])

from anthropic import Anthropic
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, TURNS, run_tool

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


@monocle_trace_method(span_name="answer")
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
        print(answer(turn))
finally:
    processor.shutdown()
