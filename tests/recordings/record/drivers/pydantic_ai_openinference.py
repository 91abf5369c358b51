"""Pydantic AI with OpenInference, which rewrites its own spans."""

import uuid

from openinference.instrumentation.pydantic_ai import OpenInferenceSpanProcessor
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from shop import (
    INSTRUCTIONS,
    MODEL,
    TOOLS,
    TURNS,
    RecordLocked,
    get_weather,
    provider,
    search_docs,
    send_email,
)
from shop import update_record as change

traces = provider()
traces._active_span_processor._span_processors = (
    OpenInferenceSpanProcessor(),
    *traces._active_span_processor._span_processors,
)


def update_record(record_id: str, field: str, value: str) -> dict:
    """Change one field of a customer's record."""
    try:
        return change(record_id, field, value)
    except RecordLocked as error:
        raise ModelRetry(str(error)) from error


assert len(TOOLS) == 4
agent = Agent(
    OpenAIChatModel(MODEL),
    name="orla",
    instructions=INSTRUCTIONS,
    tools=[search_docs, get_weather, update_record, send_email],
    retries=3,
)
Agent.instrument_all(InstrumentationSettings(tracer_provider=traces))
history, conversation = [], str(uuid.uuid4())
try:
    for turn in TURNS:
        result = agent.run_sync(turn, message_history=history, conversation_id=conversation)
        history = result.all_messages()
        print(result.output)
finally:
    traces.shutdown()
