"""Executions that a span tells whole, as an object of request and response: what the tool returned is in the response.

Some agents put an element around what a tool returned, for the model: where the response has it bare as well, that is it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrospan.ingest.interpret.messages.tool_results import error_of, response_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.json_text import read_value

_IDS = ("callId", "call_id", "toolCallId", "tool_call_id", "id")
_RETURNED = ("responseParts", "response_parts", "parts", "content", "output", "result")
_FUNCTION_RESPONSES = ("functionResponse", "function_response")
_FAILED = ("error", "failed", "failure")
_ELEMENT = re.compile(r"\s*<([A-Za-z][\w-]*)>(.*)</\1>\s*", re.DOTALL)


def open_execution(span: NormalizedSpan) -> None:
    """Take what a tool returned out of the object that tells its execution, and whether it failed, in place."""
    told = span.result
    request, response = _sides(told)
    if request is None or response is None or not isinstance(told, dict) or not _is_of(request, span):
        return
    returned = next((response[key] for key in _RETURNED if response.get(key) is not None), None)
    if returned is None:
        return
    span.result = _bare(_opened(returned), response)
    failed = told.get("status") in _FAILED or error_of(span.result) is not None
    if failed and not span.interrupted:
        span.failed = True
        span.error_message = span.error_message or error_of(span.result)


def _sides(told: object) -> tuple[dict[str, object] | None, dict[str, object] | None]:
    if not isinstance(told, dict):
        return None, None
    request, response = told.get("request"), told.get("response")
    return (
        request if isinstance(request, dict) else None,
        response if isinstance(response, dict) else None,
    )


def _is_of(request: dict[str, object], span: NormalizedSpan) -> bool:
    """Tell whether a request is that of the call which a span executes: what a tool returned may look like one, too."""
    ids = [request[key] for key in _IDS if key in request]
    if span.tool_call_id and ids:
        return span.tool_call_id in ids
    return request.get("name") == span.tool_name and ("args" in request or "arguments" in request)


def _opened(returned: object) -> object:
    """Return what a function response holds, also one in a list, and of that the only field."""
    only = returned[0] if isinstance(returned, list) and len(returned) == 1 else returned
    for key in _FUNCTION_RESPONSES:
        inner = only.get(key) if isinstance(only, dict) else None
        if isinstance(inner, dict) and "response" in inner:
            only = inner["response"]
            return only["output"] if isinstance(only, dict) and only.keys() == {"output"} else only
    return returned


def _bare(returned: object, response: dict[str, object]) -> object:
    """Return what is in an element, where the response says just that elsewhere."""
    element = _ELEMENT.fullmatch(returned) if isinstance(returned, str) else None
    inner = element[2].strip() if element is not None else None
    if inner is not None and any(text.strip() == inner for text in _texts(response)):
        return read_value(inner)
    return response_of(returned)


def _texts(value: dict[str, object]) -> Iterator[str]:
    return (text for text in value.values() if isinstance(text, str))
