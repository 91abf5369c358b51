"""OpenAI Agents SDK with OpenLIT, over the Responses API."""

import openlit
from agents import Agent, Runner, SQLiteSession, function_tool
from opentelemetry import trace
from shop import INSTRUCTIONS, MODEL, SCENARIO, SESSION, TOOLS, TRIAGE, TURNS

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)
agent = Agent(name="orla", instructions=INSTRUCTIONS, model=MODEL, tools=[function_tool(t) for t in TOOLS])
if SCENARIO == "handoff":
    agent = Agent(name="triage", instructions=TRIAGE, model=MODEL, handoffs=[agent])
session = SQLiteSession(SESSION)
try:
    for turn in TURNS:
        print(Runner.run_sync(agent, turn, session=session).final_output)
finally:
    trace.get_tracer_provider().shutdown()
