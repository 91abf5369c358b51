"""Anthropic's client with MLflow's tracing, in a loop whose agent and tools are traced functions, exported over OTLP."""

import os

import mlflow
from anthropic import Anthropic
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS, RecordLocked

os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
mlflow.anthropic.autolog()
client = Anthropic(api_key="none", base_url=MODEL_URL, max_retries=0)
tools = [
    {
        "name": tool["function"]["name"],
        "description": tool["function"]["description"],
        "input_schema": tool["function"]["parameters"],
    }
    for tool in CHAT_TOOLS
]
traced = {tool.__name__: mlflow.trace(tool, span_type="TOOL") for tool in TOOLS}
messages = []


def run(call):
    result = {"type": "tool_result", "tool_use_id": call.id}
    try:
        return {**result, "content": str(traced[call.name](**call.input))}
    except RecordLocked as error:
        return {**result, "content": f"Error: {error}", "is_error": True}


@mlflow.trace(name="orla", span_type="AGENT")
def answer(question):
    mlflow.update_current_trace(metadata={"mlflow.trace.session": SESSION})
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
    mlflow.flush_trace_async_logging(terminate=True)
