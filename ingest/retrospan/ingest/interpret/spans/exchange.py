"""A model request and its response that a span holds under names of its own: in two values, or key by key.

Known by their shape, whatever framework wrote them: the fields are those that model APIs have.
"""

from __future__ import annotations

from collections.abc import Mapping

from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.json_text import Unreadable, read_value

_REQUESTS = ("messages", "contents")
_RESPONSES = ("choices", "candidates")


#: Where the model that was asked for stands in an exchange: under its own name is the one that answered.
REQUEST_MODEL = "request_model"
#: Only a value with one of these in it can be a response.
_MARKS = ("choices", "candidates", "stop_reason", "stopReason", '"response"')


def exchange_by_keys(attributes: Mapping[str, object]) -> dict[str, object] | None:
    """Return the request and the response whose fields lie under one prefix, in one object, values read."""
    for key in attributes:
        prefix, _, last = key.rpartition(".")
        if last in _REQUESTS and any(f"{prefix}.{name}" in attributes for name in _RESPONSES):
            return {
                key[len(prefix) + 1 :]: _read(value)
                for key, value in attributes.items()
                if key.startswith(f"{prefix}.")
            }
    return None


def exchange_by_values(attributes: Mapping[str, object]) -> dict[str, object] | None:
    """Return the request that is one value, and the response that is another, in one object."""
    marked = (
        value for value in attributes.values() if isinstance(value, str) and any(m in value for m in _MARKS)
    )
    response = next((read for value in marked if _is_response(read := _read(value))), None)
    if not isinstance(response, dict):
        return None
    for value in attributes.values():
        request = _read(value) if isinstance(value, str) else None
        if isinstance(request, dict) and _is_request(request):
            model = request.pop("model", None)
            return {**request, REQUEST_MODEL: model, **response}
    return None


def _is_request(value: dict[str, object]) -> bool:
    messages = next((said for name in _REQUESTS if isinstance(said := value.get(name), list)), None)
    if messages is None:
        return "model" in value and isinstance(value.get("input"), str | list)
    return bool(messages) and all(
        isinstance(each, dict) and each.keys() & {"role", "parts"} for each in messages
    )


def _is_response(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    answers = next((said for name in _RESPONSES if isinstance(said := value.get(name), list)), None)
    if answers is not None:
        return bool(answers) and all(
            isinstance(each, dict) and each.keys() & {"message", "text", "content"} for each in answers
        )
    if value.get("object") == "response" or "stopReason" in value:
        return isinstance(value.get("output"), list | dict)
    return (
        value.get("role") == "assistant" and "stop_reason" in value and isinstance(value.get("content"), list)
    )


def _read(value: object) -> object:
    read = read_value(value)
    if isinstance(read, str) and read[:1] in ("[", "{"):
        printed = read_repr(read)
        return read if isinstance(printed, Unreadable) else printed
    return read
