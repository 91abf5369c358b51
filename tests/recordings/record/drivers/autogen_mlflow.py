"""AutoGen's AgentChat with MLflow's tracing, exported over OTLP."""

import asyncio
import os

import mlflow
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMessageTermination
from autogen_agentchat.teams import Swarm
from autogen_ext.models.openai import OpenAIChatCompletionClient
from shop import INSTRUCTIONS, MODEL, SCENARIO, TOOLS, TRIAGE, TURNS

os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
mlflow.autogen.autolog()


async def main():
    client = OpenAIChatCompletionClient(model=MODEL, max_retries=0)
    agent = AssistantAgent(
        "orla",
        client,
        tools=TOOLS,
        system_message=INSTRUCTIONS,
        max_tool_iterations=10,
    )
    if SCENARIO == "handoff":
        triage = AssistantAgent("triage", client, handoffs=["orla"], system_message=TRIAGE)
        agent = Swarm([triage, agent], termination_condition=TextMessageTermination("orla"))
    for turn in TURNS:
        print((await agent.run(task=turn)).messages[-1])


try:
    asyncio.run(main())
finally:
    mlflow.flush_trace_async_logging(terminate=True)
