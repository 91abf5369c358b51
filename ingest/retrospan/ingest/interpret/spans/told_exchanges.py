"""A model request and its response that the events of a span tell, each field an attribute of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from retrospan.ingest.interpret.spans.exchange import REQUEST_MODEL, Reader, are_messages
from retrospan.ingest.interpret.spans.span import Attributes, Event
from retrospan.ingest.interpret.spans.unflatten import message_under, nested

#: The leaf that says that a model speaks in the message of an event.
_SPEAKER = ".message.role"
_MODELS = ("assistant", "model", "ai")
_MODEL = re.compile(r"(?:^|[._])(?:model|llm)[a-z_]*[._](?:model_?)?(?:name|id)\Z|(?:^|\.)model(?:_name)?\Z")
#: Where a framework keeps the response as the API gave it, beside the message that it made of it.
_RAW = "raw"


def exchange_in_events(events: Sequence[Event], failed: bool, read: Reader) -> dict[str, object] | None:
    """Return request and response in one object; of a span that `failed`, also the request alone. None where no event tells
    both what the model was asked and what it answered."""
    given: object = None
    model: str | None = None
    for event in events:
        attributes = event.attributes
        given = given if given is not None else _messages_in(attributes, read)
        speaker = next((key for key in attributes if key.endswith(_SPEAKER)), None)
        if speaker is None:
            model = model or _model_in(attributes)
        elif given is not None and attributes[speaker] in _MODELS:
            answer = _response(attributes, speaker[: -len(_SPEAKER)], read)
            return {"messages": given, REQUEST_MODEL: model, **answer}
    return {"messages": given, REQUEST_MODEL: model} if failed and given is not None and model else None


def _messages_in(attributes: Attributes, read: Reader) -> object:
    """Return the list of messages in one attribute of an event."""
    for value in attributes.values():
        if isinstance(value, str) and value[:2] == "[{" and '"role"' in value:
            said = read(value)
            if are_messages(said):
                return said
    return None


def _model_in(attributes: Attributes) -> str | None:
    named = (value for key, value in attributes.items() if _MODEL.search(key))
    return next((name for name in named if isinstance(name, str) and name), None)


def _response(attributes: Mapping[str, object], prefix: str, read: Reader) -> dict[str, object]:
    """Return the response of the API where it is told, else the message alone as the only choice of one."""
    leaves = {key: read(value) for key, value in attributes.items() if key.startswith(f"{prefix}.")}
    raw = message_under(leaves, f"{prefix}.{_RAW}")
    choices = raw.get("choices")
    if isinstance(choices, list) and choices and all(isinstance(e, dict) and "message" in e for e in choices):
        return raw
    start = len(prefix) + 1
    told = nested([(key[start:], value) for key, value in leaves.items() if f".{_RAW}." not in key])
    usage = {"usage": raw["usage"]} if isinstance(raw.get("usage"), dict) else {}
    named = {key: raw[key] for key in ("id", "model") if isinstance(raw.get(key), str)}
    return {**named, **usage, "choices": [{"message": told["message"]}]}
