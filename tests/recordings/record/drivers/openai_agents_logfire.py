"""OpenAI Agents SDK with Logfire, over the Responses API."""

import logfire
from agents import Agent, Runner, SQLiteSession, function_tool, set_tracing_disabled
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from shop import INSTRUCTIONS, MODEL, SCENARIO, SESSION, TOOLS, TRIAGE, TURNS

logfire.configure(
    send_to_logfire=False, console=False, additional_span_processors=[BatchSpanProcessor(OTLPSpanExporter())]
)
logfire.instrument_openai_agents()
set_tracing_disabled(False)
agent = Agent(name="orla", instructions=INSTRUCTIONS, model=MODEL, tools=[function_tool(t) for t in TOOLS])
if SCENARIO == "handoff":
    agent = Agent(name="triage", instructions=TRIAGE, model=MODEL, handoffs=[agent])
session = SQLiteSession(SESSION)
try:
    for turn in TURNS:
        print(Runner.run_sync(agent, turn, session=session).final_output)
finally:
    logfire.shutdown()
