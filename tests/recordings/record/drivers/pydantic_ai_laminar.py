"""Pydantic AI with Laminar, whose SDK takes its spans and sends them to a Laminar of one's own."""

import os
import uuid
from urllib.parse import urlsplit

from lmnr import Laminar
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.openai import OpenAIChatModel
from shop import INSTRUCTIONS, MODEL, TURNS, RecordLocked, get_weather, search_docs, send_email
from shop import update_record as change

at = urlsplit(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])
Laminar.initialize(
    project_api_key="none", base_url=f"http://{at.hostname}", http_port=at.port, grpc_port=at.port
)
Agent.instrument_all()


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
history, conversation = [], str(uuid.uuid4())
try:
    for turn in TURNS:
        result = agent.run_sync(turn, message_history=history, conversation_id=conversation)
        history = result.all_messages()
        print(result.output)
finally:
    Laminar.flush()
    Laminar.shutdown()
