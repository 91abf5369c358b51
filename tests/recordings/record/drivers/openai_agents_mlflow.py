"""OpenAI Agents SDK with MLflow's tracing, exported over OTLP, over the Responses API."""

import os

import mlflow
from agents import Agent, Runner, SQLiteSession, function_tool
from shop import INSTRUCTIONS, MODEL, SCENARIO, SESSION, TOOLS, TRIAGE, TURNS

os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
mlflow.openai.autolog()
agent = Agent(name="orla", instructions=INSTRUCTIONS, model=MODEL, tools=[function_tool(t) for t in TOOLS])
if SCENARIO == "handoff":
    agent = Agent(name="triage", instructions=TRIAGE, model=MODEL, handoffs=[agent])
session = SQLiteSession(SESSION)
try:
    for turn in TURNS:
        print(Runner.run_sync(agent, turn, session=session).final_output)
finally:
    mlflow.flush_trace_async_logging(terminate=True)
