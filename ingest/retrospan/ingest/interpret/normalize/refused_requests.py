"""The request of a call that failed, which only its error tells: some clients print the body that was refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.messages.provider_payloads import parse_request
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.exchange import are_messages
from retrospan.ingest.interpret.spans.span import Span

#: How APIs name the messages of a request.
_NAMES = ("messages", "contents", "input")
_MESSAGES = re.compile(rf'"(?:{"|".join(_NAMES)})"\s*:\s*\[')
#: Where an object may begin, and at how many of these it is tried.
_OBJECT = re.compile(r"\{\s*\"")
_TRIES = 8
_DECODER = json.JSONDecoder()


def refused_request(sent: Span, span: NormalizedSpan) -> list[Message]:
    """Return the messages of the request that the error of a call quotes; [] where it quotes none of this model."""
    for text in _errors(sent):
        if _MESSAGES.search(text) is None:
            continue
        for begin in islice(_OBJECT.finditer(text), _TRIES):
            try:
                body, _ = _DECODER.raw_decode(text, begin.start())
            except (ValueError, RecursionError):
                continue
            if (
                isinstance(body, dict)
                and body.get("model", span.request_model) == span.request_model
                and any(are_messages(body.get(name)) for name in _NAMES)
            ):
                return parse_request(body).messages
    return []


def _errors(sent: Span) -> Iterator[str]:
    for event in sent.events:
        if event.name == "exception":
            for value in event.attributes.values():
                if isinstance(value, str):
                    yield value
    yield sent.status_message
