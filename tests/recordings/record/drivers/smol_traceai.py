"""smolagents' agent of tool calls, of a version from before `instructions`, with Future AGI's traceAI.

The instrumentation has tools describe themselves, which takes tools that are decorated and import what they use.
"""

from shop import INSTRUCTIONS, MODEL, MODEL_URL, TURNS, provider
from smolagents import OpenAIServerModel, ToolCallingAgent, tool
from traceai_smolagents import SmolagentsInstrumentor

traces = provider()
SmolagentsInstrumentor().instrument(tracer_provider=traces)


@tool
def search_docs(query: str, top_k: int = 2) -> list:
    """Search the knowledge base.

    Args:
        query: What to look for.
        top_k: How many documents to return at most.
    """
    import shop

    return shop.search_docs(query, top_k)


@tool
def get_weather(city: str) -> dict:
    """Return the weather of a city.

    Args:
        city: Name of the city.
    """
    import shop

    return shop.get_weather(city)


@tool
def update_record(record_id: str, field: str, value: str) -> dict:
    """Change one field of a customer's record.

    Args:
        record_id: Id of the record.
        field: Name of the field.
        value: New value.
    """
    import shop

    return shop.update_record(record_id, field, value)


@tool
def send_email(to: str, subject: str, body: str) -> dict:
    """Send an e-mail.

    Args:
        to: Address of the recipient.
        subject: Subject line.
        body: Text of the mail.
    """
    import shop

    return shop.send_email(to, subject, body)


model = OpenAIServerModel(MODEL, api_base=f"{MODEL_URL}/v1", api_key="none")
agent = ToolCallingAgent(
    [search_docs, get_weather, update_record, send_email], model, name="orla", max_steps=10
)
agent.prompt_templates["system_prompt"] += f"\n{INSTRUCTIONS}"
try:
    for number, turn in enumerate(TURNS):
        print(agent.run(turn, reset=number == 0))
finally:
    traces.shutdown()
