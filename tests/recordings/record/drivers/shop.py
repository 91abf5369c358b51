"""What every driver has: the four tools with their log of the truth, the turns of the user, an exporter."""

import json
import os
import threading
import time
import uuid

INSTRUCTIONS = (
    "You are Orla, the support agent of Fjordkraft Outdoors. Use the tools; never guess. "
    "Answer in one or two sentences."
)
TRIAGE = "You are the triage agent. Hand over to orla for anything about the weather."
MODEL = os.environ["KIT_MODEL"]
MODEL_URL = os.environ["KIT_MODEL_URL"]
SCENARIO = os.environ["KIT_SCENARIO"]
TURNS = json.loads(os.environ["KIT_TURNS"])
SESSION = f"s-{uuid.uuid4()}"

_DOCS = {
    "refund policy": [
        {
            "doc_id": "kb-17",
            "title": "Refunds",
            "score": 0.91,
            "text": 'Goods may be returned within 30 days for a full refund.\nOpened "hygiene" items are excluded; '
            "shipping (79 kr) isn't refunded. Ærlig talt: keep the receipt.",
        },
        {
            "doc_id": "kb-18",
            "title": "Refund timing",
            "score": 0.77,
            "text": "Refunds reach the card in 5–7 working days.",
        },
    ],
    "shipping rules": [
        {"doc_id": "kb-30", "title": "Shipping", "score": 0.7, "text": "Parcels are held in snow."}
    ],
    "full manual": [
        {
            "doc_id": "kb-99",
            "title": "Manual",
            "score": 0.5,
            "text": f"BIGSTART {' '.join(f'w{n:05}' for n in range(2855))} BIGEND",
        }
    ],
}
_WEATHER = {
    "Oslo": {"city": "Oslo", "temp_c": -3, "condition": "snow"},
    "Bergen": {"city": "Bergen", "temp_c": 6, "condition": "rain"},
}
_BEFORE = {"status": "open", "shipping_city": "Oslo"}
_LOCK = threading.Lock()
_count = 0


class RecordLocked(Exception):
    """Somebody else writes the record."""


def _log(tool, args, result, error=None):
    global _count
    with _LOCK:
        _count += 1
        line = {
            "kind": "tool",
            "t": time.time(),
            "n": _count,
            "tool": tool,
            "args": args,
            "result": result,
            "error": error,
        }
        with open(os.environ["KIT_TRUTH"], "a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    if error:
        raise RecordLocked(error)
    return result


def search_docs(query: str, top_k: int = 2) -> list[dict]:
    """Search the knowledge base.

    Args:
        query: What to look for.
        top_k: How many documents to return at most.
    """
    return _log("search_docs", {"query": query, "top_k": top_k}, _DOCS.get(query, [])[:top_k])


def get_weather(city: str) -> dict:
    """Return the weather of a city.

    Args:
        city: Name of the city.
    """
    return _log("get_weather", {"city": city}, _WEATHER[city])


def update_record(record_id: str, field: str, value: str) -> dict:
    """Change one field of a customer's record.

    Args:
        record_id: Id of the record.
        field: Name of the field.
        value: New value.
    """
    args = {"record_id": record_id, "field": field, "value": value}
    if SCENARIO == "tool_error" and _count == 0:
        return _log("update_record", args, None, f"record {record_id} is locked by another writer")
    result = {
        "record_id": record_id,
        "field": field,
        "before": _BEFORE[field],
        "after": value,
        "version": 2,
    }
    return _log("update_record", args, result)


def send_email(to: str, subject: str, body: str) -> dict:
    """Send an e-mail.

    Args:
        to: Address of the recipient.
        subject: Subject line.
        body: Text of the mail.
    """
    args = {"to": to, "subject": subject, "body": body}
    return _log("send_email", args, {"message_id": "m-501", "to": to, "status": "queued"})


TOOLS = [search_docs, get_weather, update_record, send_email]
SCHEMAS = {
    "search_docs": {"query": "string", "top_k": "integer"},
    "get_weather": {"city": "string"},
    "update_record": {"record_id": "string", "field": "string", "value": "string"},
    "send_email": {"to": "string", "subject": "string", "body": "string"},
}
CHAT_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": tool.__name__,
            "description": tool.__doc__.splitlines()[0],
            "parameters": {
                "type": "object",
                "properties": {name: {"type": kind} for name, kind in SCHEMAS[tool.__name__].items()},
                "required": list(SCHEMAS[tool.__name__]),
            },
        },
    }
    for tool in TOOLS
]


def run_tool(name, arguments):
    """Run a tool for a driver that has to write its own loop; a failure becomes text, as in most such loops."""
    try:
        result = {tool.__name__: tool for tool in TOOLS}[name](**arguments)
    except RecordLocked as error:
        return f"Error: {error}"
    return json.dumps(result, ensure_ascii=False)


def provider():
    """Set up tracing as a service does it, with the exporter that the environment asks for."""
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    made = TracerProvider(resource=Resource.create())
    made.add_span_processor(BatchSpanProcessor(_exporter("Span"), schedule_delay_millis=300))
    trace.set_tracer_provider(made)
    return made


def log_provider():
    """Set up log records in the same way."""
    from opentelemetry import _logs
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.resources import Resource

    made = LoggerProvider(resource=Resource.create())
    made.add_log_record_processor(BatchLogRecordProcessor(_exporter("Log"), schedule_delay_millis=300))
    _logs.set_logger_provider(made)
    return made


def _exporter(kind):
    if os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc":
        if kind == "Log":
            from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter

            return OTLPLogExporter()
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter()
    if kind == "Log":
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

        return OTLPLogExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()
