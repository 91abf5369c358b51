"""OpenAI's client with Agenta, in a loop whose agent and tools are Agenta's, the calls by OpenLLMetry as it documents."""

import json
import os

import agenta as ag
from openai import OpenAI
from opentelemetry import trace
from opentelemetry.instrumentation.openai import OpenAIInstrumentor
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, RecordLocked

ag.init(host=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"], api_key="none")
OpenAIInstrumentor().instrument()
client, messages = OpenAI(max_retries=0), [{"role": "system", "content": INSTRUCTIONS}]
tools = {each.__name__: ag.instrument(spankind="tool")(each) for each in TOOLS}


@ag.instrument(spankind="agent")
def orla(question):
    ag.tracing.store_session(session_id=SESSION)
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
        print(orla(turn))
finally:
    trace.get_tracer_provider().shutdown()
