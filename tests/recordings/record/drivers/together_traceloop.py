"""Together's client with OpenLLMetry, in a loop whose workflow and tools are Traceloop's decorators."""

import json

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS, RecordLocked
from together import Together
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent, tool

Traceloop.init(app_name="orla-support", exporter=OTLPSpanExporter(), telemetry_enabled=False)
Traceloop.set_association_properties({"session_id": SESSION})
client = Together(api_key="none", base_url=f"{MODEL_URL}/v1", max_retries=0)
tools = {each.__name__: tool(name=each.__name__)(each) for each in TOOLS}
messages = [{"role": "system", "content": INSTRUCTIONS}]


@agent(name="orla")
def answer(question):
    messages.append({"role": "user", "content": question})
    while True:
        reply = client.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS)
        said = reply.choices[0].message
        messages.append(said.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            try:
                result = json.dumps(tools[call.function.name](**json.loads(call.function.arguments)))
            except RecordLocked as error:
                result = f"Error: {error}"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


try:
    for turn in TURNS:
        print(answer(turn))
finally:
    trace.get_tracer_provider().shutdown()
