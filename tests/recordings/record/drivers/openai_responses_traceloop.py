"""OpenAI's client over the Responses API with OpenLLMetry, in a loop whose agent and tools are Traceloop's decorators."""

import json

from openai import OpenAI
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, RecordLocked
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent, tool

Traceloop.init(app_name="orla-support", exporter=OTLPSpanExporter(), telemetry_enabled=False)
Traceloop.set_association_properties({"session_id": SESSION})
client, items = OpenAI(max_retries=0), []
tools = {each.__name__: tool(name=each.__name__)(each) for each in TOOLS}
offered = [{"type": "function", **each["function"]} for each in CHAT_TOOLS]


@agent(name="orla")
def answer(question):
    items.append({"role": "user", "content": question})
    while True:
        reply = client.responses.create(model=MODEL, instructions=INSTRUCTIONS, input=items, tools=offered)
        items.extend(reply.output)
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return reply.output_text
        for call in calls:
            try:
                result = json.dumps(tools[call.name](**json.loads(call.arguments)))
            except RecordLocked as error:
                result = f"Error: {error}"
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


try:
    for turn in TURNS:
        print(answer(turn))
finally:
    trace.get_tracer_provider().shutdown()
