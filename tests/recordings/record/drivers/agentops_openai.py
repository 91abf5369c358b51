"""OpenAI's client with AgentOps, whose decorators say what the agent and its tools are."""

import json
import os

import agentops
from agentops.sdk.decorators import agent, operation, tool
from openai import OpenAI
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, TOOLS, TURNS, RecordLocked

agentops.init(exporter_endpoint=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces")
client = OpenAI(max_retries=0)
tools = {t.__name__: tool(name=t.__name__)(t) for t in TOOLS}


def run(call):
    try:
        result = tools[call.function.name](**json.loads(call.function.arguments))
    except RecordLocked as error:
        return f"Error: {error}"
    return json.dumps(result, ensure_ascii=False)


@agent(name="orla")
class Orla:
    def __init__(self):
        self.messages = [{"role": "system", "content": INSTRUCTIONS}]

    @operation
    def answer(self, question):
        self.messages.append({"role": "user", "content": question})
        while True:
            reply = client.chat.completions.create(model=MODEL, messages=self.messages, tools=CHAT_TOOLS)
            said = reply.choices[0].message
            self.messages.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                return said.content
            for call in said.tool_calls:
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": run(call)})


orla = Orla()
for turn in TURNS:
    print(orla.answer(turn))
