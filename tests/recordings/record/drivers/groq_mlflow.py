"""Groq's client with MLflow's tracing, in a loop whose agent and tools are traced functions, exported over OTLP."""

import json
import os

import mlflow
from groq import Groq
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS, RecordLocked

os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
mlflow.groq.autolog()
client = Groq(api_key="none", base_url=MODEL_URL, max_retries=0)
traced = {tool.__name__: mlflow.trace(tool, span_type="TOOL") for tool in TOOLS}
messages = [{"role": "system", "content": INSTRUCTIONS}]


def run(call):
    try:
        return json.dumps(traced[call.function.name](**json.loads(call.function.arguments)))
    except RecordLocked as error:
        return f"Error: {error}"


@mlflow.trace(name="orla", span_type="AGENT")
def answer(question):
    mlflow.update_current_trace(metadata={"mlflow.trace.session": SESSION})
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
        print(answer(turn))
finally:
    mlflow.flush_trace_async_logging(terminate=True)
