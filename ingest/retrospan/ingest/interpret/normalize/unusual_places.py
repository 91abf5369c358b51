"""Messages that a span tells in an unusual place: in an object beside the last text, leaf by leaf, at the end of a transcript,
inside the response of the API that a framework keeps."""

from __future__ import annotations

import re

from retrospan.ingest.interpret.messages.finish_reasons import FOR_TOOLS
from retrospan.ingest.interpret.messages.message import Message, Part
from retrospan.ingest.interpret.messages.message_parts import calls_in, tool_call
from retrospan.ingest.interpret.messages.messages import read_message, read_messages
from retrospan.ingest.interpret.messages.provider_payloads import parse_answer
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.exchange import (
    OF_ANSWERS,
    OF_REQUESTS,
    histories_by_shape,
    transcript_by_shape,
)
from retrospan.ingest.interpret.spans.listed_calls import are_calls
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.interpret.spans.unflatten import message_under, unflatten
from retrospan.ingest.json_text import read_value

#: How a list of calls is called.
_CALLS = ("calls", "Calls")
#: What a call has that stands there under its number.
_CALL = {"id", "name", "arguments"}
#: An index in a name.
_NUMBER = re.compile(r"[.\[]\d")


def take_history(places: SpanFields, span: NormalizedSpan) -> None:
    """Take the one list of messages that an object holds, where the prompt is told beside it as nothing but its last text."""
    told = [read_messages(listed) for listed in histories_by_shape(places.all[0], places.read)]
    if len(told) != 1 or len(told[0]) < 2:
        return
    last = span.input[0]["parts"] if span.input else []
    texts = [part.get("content") for part in last if part["type"] == "text"]
    said = told[0][-1]["parts"]
    if len(texts) == len(last) and all(
        any(text in (part.get("content"), part.get("response")) for part in said) for text in texts
    ):
        span.input = told[0]


def in_blocks(part: Part) -> list[Part]:
    """Return the texts of instructions that are nothing but the JSON of blocks of text; any other part as it is."""
    text = part.get("content") if part["type"] == "text" else None
    blocks = read_value(text) if isinstance(text, str) and text[:2] == "[{" else None
    if not isinstance(blocks, list) or not all(
        isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        for block in blocks
    ):
        return [part]
    return [{"type": "text", "content": block["text"]} for block in blocks]


def flattened_answer(sent: Span, places: SpanFields) -> list[Message]:
    """Return the message of a model of which each leaf is an attribute of its own, without a number."""
    for key, value in sent.attributes.items() if ".role" in places.listed else ():
        prefix, _, last = key.rpartition(".")
        if last == "role" and value in ("assistant", "model") and not _NUMBER.search(prefix):
            message = read_message(message_under(sent.attributes, prefix), "assistant")
            if message is not None:
                return [message]
    return []


def told_inside(response: object) -> list[Message]:
    """Return the answer as the API itself gave it, where a framework keeps that inside its own form of a response."""
    inner = response.get("custom", response.get("raw")) if isinstance(response, dict) else None
    return parse_answer(inner) if isinstance(inner, dict) else []


def take_calls(places: SpanFields, span: NormalizedSpan) -> None:
    """Add the calls to an answer that stand in a list of their own, under a name that says that they are an answer's, or
    beside the reason that the answer ended for them."""
    if span.finish_reasons and not any(map(FOR_TOOLS.search, span.finish_reasons)):
        return
    for key, value in span.sent.attributes.items():
        if not (isinstance(value, str) and value[:2] == "[{" and key[-5:] in _CALLS):
            continue
        if OF_REQUESTS.search(key) or not (span.finish_reasons or OF_ANSWERS.search(key)):
            continue
        calls = calls_in(listed) if are_calls((key, listed := places.read(value))) else []
        if calls:
            _add_calls(span, [tool_call(call) for call in calls])
            return
    for prefix in sorted(places.indexed):
        # A call of the prompt stands under the number of its message.
        if prefix[-5:] in _CALLS and not OF_REQUESTS.search(prefix):
            calls = [call for call in unflatten(span.sent.attributes, prefix) if call.keys() >= _CALL]
            if calls:
                _add_calls(span, [tool_call(call) for call in calls])
                return


def _add_calls(span: NormalizedSpan, calls: list[Part]) -> None:
    said = span.output[-1]["parts"] if span.output else []
    span.output = [*span.output[:-1], {"role": "assistant", "parts": [*said, *calls]}]


def take_answer(places: SpanFields, span: NormalizedSpan) -> None:
    """Take the answer out of what a model call seems to have been given, where a transcript of both is all that it tells."""
    if (
        span.input
        and span.input[-1]["role"] == "assistant"
        and transcript_by_shape(places.all[0], places.read)
    ):
        last = next(n for n, message in enumerate(reversed(span.input)) if message["role"] != "assistant")
        span.input, span.output = span.input[:-last], span.input[-last:]
