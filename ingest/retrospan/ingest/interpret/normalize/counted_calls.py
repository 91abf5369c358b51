"""Model calls known only by their tokens: if no span of a trace is a model call, the spans that count tokens are.

The names are those of the GenAI conventions. What counts on spans of a kind that is known, as an agent's, is a sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.key import whole_number
from retrospan.schemas import semconv

_COUNTS = (semconv.USAGE_INPUT_TOKENS, semconv.USAGE_OUTPUT_TOKENS)
#: What has models of its own, and counts other tokens.
_MODELLED = ("inference", "embedding", "rerank")


def counted_calls(spans: Sequence[NormalizedSpan]) -> Iterator[tuple[int, str]]:
    """Yield the places of spans that are model calls by what they count, each with what it is."""
    counting = [place for place, span in enumerate(spans) if span.operation == "other" and _counts(span)]
    if counting and not any(span.operation in _MODELLED for span in spans):
        yield from ((place, "inference") for place in counting)


def _counts(span: NormalizedSpan) -> bool:
    attributes = span.sent.attributes
    return _COUNTS[1] in attributes and all(whole_number(attributes.get(name)) for name in _COUNTS)
