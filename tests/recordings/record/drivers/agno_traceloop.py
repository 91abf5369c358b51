"""Agno with OpenLLMetry, for Agno and for the client of the model."""

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai import OpenAIChat
from opentelemetry.instrumentation.agno import AgnoInstrumentor
from opentelemetry.instrumentation.openai import OpenAIInstrumentor
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, provider

traces = provider()
AgnoInstrumentor().instrument(tracer_provider=traces)
OpenAIInstrumentor().instrument(tracer_provider=traces)
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
