"""The response of a model API that a program keeps beside what it tells of a request, also as JSON inside JSON."""

from __future__ import annotations

from collections.abc import Iterable

from retrospan.ingest.interpret.messages.completion import agree
from retrospan.ingest.interpret.messages.provider_payloads import parse_answer
from retrospan.ingest.interpret.messages.response_usage import parse_usage
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.json_text import read_value


def complete_from_copy(values: Iterable[object], span: NormalizedSpan) -> None:
    """Fill model and tokens of a call from the copy of its response among these values, in place.

    It is the copy if it is the only response there, and its answer is the one that the span tells.
    """
    tokens = span.tokens
    lacks_tokens = tokens.input is None and tokens.output is None
    if span.failed or not span.output or not (lacks_tokens or span.response_model is None):
        return
    told = {
        value
        for value in values
        if isinstance(value, str) and value[:1] == "{" and '"model"' in value and "sage" in value
    }
    copies = [response for value in told if isinstance(response := read_value(value), dict)]
    if len(copies) != 1:
        return
    used, answer = parse_usage(copies[0]), parse_answer(copies[0])
    if used.model is None or used.input is None or not answer or not agree(answer, span.output):
        return
    span.response_model = span.response_model or used.model
    if lacks_tokens:
        tokens.input, tokens.output = used.input, used.output
        tokens.cached = tokens.cached if tokens.cached is not None else used.cached
        tokens.written = tokens.written if tokens.written is not None else used.written
        tokens.reasoning = tokens.reasoning if tokens.reasoning is not None else used.reasoning
    said = copies[0].get("id")
    if span.response_id is None and isinstance(said, str) and said:
        span.response_id = said
