"""Haystack's agent in a pipeline with Langfuse's connector."""

import os

from haystack import Pipeline
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from haystack.tracing import tracer
from haystack.utils import Secret
from haystack_integrations.components.connectors.langfuse import LangfuseConnector
from httpx import Client, MockTransport, Response
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS

#: What Langfuse says of the project, which the connector asks for.
project = {"id": "p-1", "name": "shop", "organization": {"id": "o-1", "name": "shop"}, "metadata": {}}
connector = LangfuseConnector(
    "orla",
    public_key=Secret.from_token("pk-none"),
    secret_key=Secret.from_token("sk-none"),
    httpx_client=Client(transport=MockTransport(lambda _: Response(200, json={"data": [project]}))),
    host=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"],
)
agent = Agent(
    chat_generator=OpenAIChatGenerator(model=MODEL, max_retries=0),
    tools=[create_tool_from_function(t) for t in TOOLS],
    system_prompt=INSTRUCTIONS,
    raise_on_tool_invocation_failure=False,
)
pipeline = Pipeline()
pipeline.add_component("tracer", connector)
pipeline.add_component("orla", agent)
history = []
try:
    for turn in TURNS:
        asked = {
            "orla": {"messages": [*history, ChatMessage.from_user(turn)]},
            "tracer": {"invocation_context": {"session_id": SESSION}},
        }
        done = pipeline.run(asked)["orla"]
        history = [m for m in done["messages"] if m.role != "system"]
        print(done["messages"][-1].text)
finally:
    tracer.actual_tracer.flush()
