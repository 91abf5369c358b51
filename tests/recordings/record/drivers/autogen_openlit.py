"""AutoGen's AgentChat with OpenLIT."""

import asyncio

import openlit
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from autogen_ext.models.openai import OpenAIChatCompletionClient
from opentelemetry import trace
from shop import INSTRUCTIONS, MODEL, SCENARIO, TOOLS, TRIAGE, TURNS

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)


async def main():
    client = OpenAIChatCompletionClient(model=MODEL, max_retries=0)
    orla = AssistantAgent(
        "orla",
        client,
        tools=TOOLS,
        system_message=INSTRUCTIONS,
        max_tool_iterations=10,
    )
    done = TextMessageTermination("orla")
    if SCENARIO == "handoff":
        triage = AssistantAgent("triage", client, handoffs=["orla"], system_message=TRIAGE)
        team = Swarm([triage, orla], termination_condition=done)
    else:
        team = RoundRobinGroupChat([orla], termination_condition=done)
    for turn in TURNS:
        print((await team.run(task=turn)).messages[-1])


try:
    asyncio.run(main())
finally:
    trace.get_tracer_provider().shutdown()
