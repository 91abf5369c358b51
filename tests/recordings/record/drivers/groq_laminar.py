"""Groq's client with Laminar, whose SDK sends to a Laminar of one's own, in a loop whose agent and tools it observes."""

import json
import os
from urllib.parse import urlsplit

from groq import Groq
from lmnr import Laminar, observe
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS, RecordLocked

at = urlsplit(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])
Laminar.initialize(
    project_api_key="none", base_url=f"http://{at.hostname}", http_port=at.port, grpc_port=at.port
)
client = Groq(api_key="none", base_url=MODEL_URL, max_retries=0)
observed = {tool.__name__: observe(name=tool.__name__, span_type="TOOL")(tool) for tool in TOOLS}
messages = [{"role": "system", "content": INSTRUCTIONS}]


def run(call):
    try:
        return json.dumps(observed[call.function.name](**json.loads(call.function.arguments)))
    except RecordLocked as error:
        return f"Error: {error}"


@observe(name="orla", session_id=SESSION)
def answer(question):
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
    Laminar.flush()
    Laminar.shutdown()
