"""Anthropic's client with Logfire, in a loop whose agent and tools are Logfire's spans."""

import logfire
from anthropic import Anthropic
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, TURNS, run_tool

logfire.configure(
    send_to_logfire=False, console=False, additional_span_processors=[BatchSpanProcessor(OTLPSpanExporter())]
)
client = Anthropic(api_key="none", base_url=MODEL_URL, max_retries=0)
logfire.instrument_anthropic(client)
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
    with logfire.span("tool {name}", name=call.name, arguments=call.input) as span:
        result = run_tool(call.name, call.input)
        span.set_attribute("result", result)
        return {
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": result,
            "is_error": result.startswith("Error"),
        }


def answer(question):
    messages.append({"role": "user", "content": question})
    while True:
        reply = client.messages.create(
            model=MODEL, max_tokens=1024, system=INSTRUCTIONS, messages=messages, tools=tools
        )
        messages.append({"role": "assistant", "content": [part.model_dump() for part in reply.content]})
        calls = [part for part in reply.content if part.type == "tool_use"]
        if not calls:
            return reply.content[-1].text
        messages.append({"role": "user", "content": [run(call) for call in calls]})


try:
    for turn in TURNS:
        with logfire.span("answer {question}", question=turn):
            print(answer(turn))
finally:
    logfire.shutdown()
