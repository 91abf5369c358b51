"""Agno with Future AGI's traceAI, which has OpenInference's instrumentation make the spans."""

from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, provider
from traceai_agno import configure_agno_tracing

traces = provider()
configure_agno_tracing(tracer_provider=traces)

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai import OpenAIChat

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
