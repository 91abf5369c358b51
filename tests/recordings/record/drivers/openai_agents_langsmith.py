"""OpenAI Agents SDK with LangSmith's processor of traces, over the Responses API; exported as OTLP."""

from agents import Agent, Runner, SQLiteSession, function_tool, set_trace_processors
from langsmith.integrations.openai_agents_sdk import OpenAIAgentsTracingProcessor
from langsmith.run_trees import get_cached_client
from shop import INSTRUCTIONS, MODEL, SCENARIO, SESSION, TOOLS, TRIAGE, TURNS, provider

traces = provider()
client = get_cached_client()
set_trace_processors([OpenAIAgentsTracingProcessor(client, metadata={"session_id": SESSION})])
agent = Agent(name="orla", instructions=INSTRUCTIONS, model=MODEL, tools=[function_tool(t) for t in TOOLS])
if SCENARIO == "handoff":
    agent = Agent(name="triage", instructions=TRIAGE, model=MODEL, handoffs=[agent])
session = SQLiteSession(SESSION)
try:
    for turn in TURNS:
        print(Runner.run_sync(agent, turn, session=session).final_output)
finally:
    client.flush()
    traces.shutdown()
