"""Pydantic AI with OpenLIT."""

import openlit
from opentelemetry import trace
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.openai import OpenAIChatModel
from shop import INSTRUCTIONS, MODEL, TURNS, RecordLocked, get_weather, search_docs, send_email
from shop import update_record as change

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)


def update_record(record_id: str, field: str, value: str) -> dict:
    """Change one field of a customer's record."""
    try:
        return change(record_id, field, value)
    except RecordLocked as error:
        raise ModelRetry(str(error)) from error


agent = Agent(
    OpenAIChatModel(MODEL),
    name="orla",
    instructions=INSTRUCTIONS,
    tools=[search_docs, get_weather, update_record, send_email],
    retries=3,
)
history = []
try:
    for turn in TURNS:
        result = agent.run_sync(turn, message_history=history)
        history = result.all_messages()
        print(result.output)
finally:
    trace.get_tracer_provider().shutdown()
