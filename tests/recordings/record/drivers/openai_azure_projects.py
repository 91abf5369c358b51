"""OpenAI's client, asked for responses in a loop of one's own, traced by Azure AI Projects; tools are its functions."""

import json
import os

from azure.ai.projects.telemetry import AIProjectInstrumentor, trace_function
from azure.core.settings import settings
from openai import OpenAI
from opentelemetry import trace
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, SCENARIO, TOOLS, TURNS, RecordLocked, provider

traces = provider()
settings.tracing_implementation = "opentelemetry"
AIProjectInstrumentor().instrument()
client = OpenAI(max_retries=0, base_url=os.environ["OPENAI_BASE_URL"])
tracer = trace.get_tracer("orla")
traced = {tool.__name__: trace_function()(tool) for tool in TOOLS}
offered = [{"type": "function", **tool["function"], "strict": False} for tool in CHAT_TOOLS]
history = []


def run(call):
    try:
        return json.dumps(traced[call.name](**json.loads(call.arguments)), ensure_ascii=False)
    except RecordLocked as error:
        return f"Error: {error}"


def answer(turn):
    history.append({"role": "user", "content": turn})
    while True:
        done = client.responses.create(model=MODEL, instructions=INSTRUCTIONS, input=history, tools=offered)
        history.extend(item.model_dump(exclude_none=True) for item in done.output)
        calls = [item for item in done.output if item.type == "function_call"]
        if not calls:
            return done.output_text
        history.extend(
            {"type": "function_call_output", "call_id": call.call_id, "output": run(call)} for call in calls
        )


try:
    for turn in TURNS:
        with tracer.start_as_current_span(SCENARIO):
            print(answer(turn))
finally:
    traces.shutdown()
