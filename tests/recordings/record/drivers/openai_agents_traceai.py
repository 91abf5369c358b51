"""OpenAI Agents SDK with Future AGI's traceAI, over a tracer provider of one's own."""

from agents import Agent, Runner, SQLiteSession, function_tool, set_tracing_disabled
from shop import INSTRUCTIONS, MODEL, SCENARIO, SESSION, TOOLS, TRIAGE, TURNS, provider
from traceai_openai_agents import OpenAIAgentsInstrumentor

traces = provider()
OpenAIAgentsInstrumentor().instrument(tracer_provider=traces)
set_tracing_disabled(False)
agent = Agent(name="orla", instructions=INSTRUCTIONS, model=MODEL, tools=[function_tool(t) for t in TOOLS])
if SCENARIO == "handoff":
    agent = Agent(name="triage", instructions=TRIAGE, model=MODEL, handoffs=[agent])
session = SQLiteSession(SESSION)
try:
    for turn in TURNS:
        print(Runner.run_sync(agent, turn, session=session).final_output)
finally:
    traces.shutdown()
