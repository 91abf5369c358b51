"""Agno with OpenLIT."""

import openlit
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai import OpenAIChat
from opentelemetry import trace
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)
agent = Agent(
    name="orla",
    model=OpenAIChat(id=MODEL),
    instructions=INSTRUCTIONS,
    tools=TOOLS,
    db=InMemoryDb(),
    session_id=SESSION,
    add_history_to_context=True,
    telemetry=False,
)
try:
    for turn in TURNS:
        print(agent.run(turn).content)
finally:
    trace.get_tracer_provider().shutdown()
