"""LlamaIndex through OpenInference.

Particular to it: preparing a request is a model span beside the request's.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects import openinference
from retrospan.ingest.interpret.dialects.dialect import Dialect
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import Span


def _speaks(span: Span) -> bool:
    return openinference.speaks(span) and span.scope.endswith("instrumentation.llama_index")


def _refine(span: NormalizedSpan) -> None:
    if span.operation == "inference" and span.sent.name.endswith("_prepare_chat_with_tools"):
        span.operation = "other"


DIALECT = Dialect(
    name="openinference.llama_index",
    speaks=_speaks,
    refine=_refine,
    switches=openinference.SWITCHES,
)
