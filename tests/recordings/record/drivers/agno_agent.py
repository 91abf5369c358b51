"""Agno with OpenInference."""

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai import OpenAIChat
from openinference.instrumentation.agno import AgnoInstrumentor
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, provider

traces = provider()
AgnoInstrumentor().instrument(tracer_provider=traces)
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
    traces.shutdown()
