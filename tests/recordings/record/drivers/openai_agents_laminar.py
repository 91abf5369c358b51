"""OpenAI Agents SDK with Laminar, whose SDK sends to a Laminar of one's own, over the Responses API."""

import os
from urllib.parse import urlsplit

from agents import Agent, Runner, SQLiteSession, function_tool
from lmnr import Laminar
from shop import INSTRUCTIONS, MODEL, SCENARIO, SESSION, TOOLS, TRIAGE, TURNS

at = urlsplit(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])
Laminar.initialize(
    project_api_key="none", base_url=f"http://{at.hostname}", http_port=at.port, grpc_port=at.port
)
agent = Agent(name="orla", instructions=INSTRUCTIONS, model=MODEL, tools=[function_tool(t) for t in TOOLS])
if SCENARIO == "handoff":
    agent = Agent(name="triage", instructions=TRIAGE, model=MODEL, handoffs=[agent])
session = SQLiteSession(SESSION)
try:
    for turn in TURNS:
        print(Runner.run_sync(agent, turn, session=session).final_output)
finally:
    Laminar.flush()
    Laminar.shutdown()
