"""What the span of a tool says: name, call id, arguments, result."""

from __future__ import annotations

from retrospan.ingest.interpret.normalize.messages import response_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.interpret.spans.span_fields import GIVEN, RETURNED, SpanFields
from retrospan.ingest.json_text import Unreadable, read_json, read_value

_NAMES = (
    "gen_ai.tool.name",
    "tool.name",
    "ai.toolCall.name",
    "tool_name",
    "traceloop.entity.name",
    "mlflow.spanFunctionName",
    "spring.ai.tool.definition.name",
    "haystack.tool.name",
    "genkit:name",
)
_IDS = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool.id", "tool_call.id", "tool_call_id", "tool_use_id")
_ARGUMENTS = (
    "gen_ai.tool.call.arguments",
    "ai.toolCall.args",
    "ai.toolCall.input",
    "gcp.vertex.agent.tool_call_args",
    "gen_ai.tool.args",
    "tool_arguments",
    "gen_ai.tool.input",
    "tool_input",
    "mlflow.spanInputs",
    "gen_ai.prompt",
    "input.value",
    "traceloop.entity.input",
    GIVEN,
)
_RESULTS = (
    "gen_ai.tool.call.result",
    "ai.toolCall.result",
    "ai.toolCall.output",
    "gcp.vertex.agent.tool_response",
    "tool_response",
    "gen_ai.tool.output",
    "tool_output",
    "mlflow.spanOutputs",
    "gen_ai.completion",
    "output.value",
    "traceloop.entity.output",
    RETURNED,
    "gen_ai.output.messages",
)


def read_tool(places: SpanFields, reading: NormalizedSpan, problems: ParseIssues) -> None:
    """Read a tool's span in place. Arguments that were meant as JSON and are not are unknown, and a problem."""
    span = reading.span
    reading.tool_name = places.text(*_NAMES) or span.name.removeprefix("execute_tool ")
    reading.tool_call_id = places.text(*_IDS)
    arguments, result = places.any(*_ARGUMENTS), places.any(*_RESULTS)
    for event in span.events:
        if event.name == "gen_ai.tool.message" and arguments is None:
            arguments = event.attributes.get("content")
        if event.name == "gen_ai.choice" and result is None:
            result = event.attributes.get("message")
    if arguments is not None:
        read = _read_arguments(arguments)
        if isinstance(read, Unreadable):
            problems.add(span.span_id, "arguments", arguments, read.reason)
        else:
            reading.arguments, reading.has_arguments = read, True
    if result is not None:
        reading.result, reading.has_result = response_of(read_value(result)), True
        open_tool_message(reading)


def _read_arguments(value: object) -> object:
    """Read arguments from JSON, or from what Python prints; a call's `args` and `kwargs` are opened."""
    read = read_value(value)
    if isinstance(read, str):
        printed = read_repr(read)
        if isinstance(printed, Unreadable) and read[:1] in ("{", "["):
            return read_json(read)
        read = read if isinstance(printed, Unreadable) else printed
    if isinstance(read, dict) and isinstance(read.get("kwargs"), dict):
        others = [value for key, value in read.items() if key != "kwargs"]
        if all(value is True or not value for value in others):
            return read["kwargs"]
    return read


def open_tool_message(reading: NormalizedSpan) -> None:
    """Take result, call id and failure out of the message that a framework made of a tool's result."""
    message = reading.result
    for key in ("output", "outputs"):
        inner = read_value(message.get(key)) if isinstance(message, dict) else None
        if isinstance(message, dict) and key in message and (len(message) == 1 or _is_tool_message(inner)):
            message = reading.result = inner
    if not isinstance(message, dict):
        return
    if not _is_tool_message(message):
        return
    data = _data(message)
    reading.result = response_of(data["content"])
    call_id = data.get("tool_call_id")
    if isinstance(call_id, str) and call_id:
        reading.tool_call_id = reading.tool_call_id or call_id
    if data.get("status") == "error":
        reading.failed = True
        if reading.error_message is None and isinstance(data["content"], str):
            reading.error_message = data["content"]


def _data(message: dict[str, object]) -> dict[str, object]:
    return next((inner for key in ("data", "kwargs") if isinstance(inner := message.get(key), dict)), message)


def _is_tool_message(value: object) -> bool:
    """Tell whether a value is a serialised tool message, in either of LangChain's forms or plain."""
    if not isinstance(value, dict):
        return False
    data = _data(value)
    return "content" in data and ("tool_call_id" in data or data.get("type") == "tool")
