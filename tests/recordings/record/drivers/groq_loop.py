"""Groq's client with OpenInference, in a loop whose agent and tools are OpenInference's decorators."""

import json

from groq import Groq
from openinference.instrumentation import OITracer, TraceConfig, using_session
from openinference.instrumentation.groq import GroqInstrumentor
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS, RecordLocked, provider

traces = provider()
GroqInstrumentor().instrument(tracer_provider=traces)
tracer = OITracer(traces.get_tracer("shop.agent"), TraceConfig())
client = Groq(api_key="none", base_url=MODEL_URL, max_retries=0)
tools = {tool.__name__: tracer.tool(tool) for tool in TOOLS}
messages = [{"role": "system", "content": INSTRUCTIONS}]


@tracer.agent(name="orla")
def answer(question: str) -> str:
    messages.append({"role": "user", "content": question})
    while True:
        said = (
            client.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS)
            .choices[0]
            .message
        )
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
        with using_session(SESSION):
            print(answer(turn))
finally:
    traces.shutdown()
