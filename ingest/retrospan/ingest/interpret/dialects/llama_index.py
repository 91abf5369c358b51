"""LlamaIndex through OpenInference.

Of its own: preparing a request is a model span beside the request's; a tool's output holds its raw result beside the
text that the model is told.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects import openinference
from retrospan.ingest.interpret.dialects.dialect import Dialect, Page, of_package
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import Span


def _speaks(span: Span) -> bool:
    return openinference.speaks(span) and span.scope.endswith("instrumentation.llama_index")


def _refine(reading: NormalizedSpan) -> None:
    if reading.operation == "inference" and reading.span.name.endswith("_prepare_chat_with_tools"):
        reading.operation = "other"
    if reading.operation == "tool" and isinstance(reading.result, dict) and "raw_output" in reading.result:
        reading.result = reading.result["raw_output"]


_PAGE = Page(
    title="LlamaIndex, with OpenInference",
    recognised="the attribute `openinference.span.kind`, and a scope that ends in `instrumentation.llama_index`",
    sources=tuple(source for source in openinference.SOURCES if source.field != "conversation"),
    producers=(
        of_package(
            "LlamaIndex", "openinference-instrumentation-llama-index", openinference.NO_CALL_ID, "a conversation"
        ),
    ),
    own="Preparing a request is a model span beside the request's own, and no model call. A tool's output holds its "
    "raw result beside the text that the model is told: the raw result is taken.",
)  # fmt: skip
DIALECT = Dialect(
    name="openinference.llama_index",
    speaks=_speaks,
    page=_PAGE,
    refine=_refine,
    switches=openinference.SWITCHES,
)
