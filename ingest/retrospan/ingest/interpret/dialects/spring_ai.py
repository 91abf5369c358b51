"""Spring AI's own observations, exported over OTLP.

Particular to it: a prompt is a list of the texts of its messages, without who said them; calls and results of tools are
not among them. Of two texts the first is the system's, as Spring AI puts it before all others; one alone is the user's.
Of more it is known only what a run shows.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Switch
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_names import names_of_span
from retrospan.ingest.json_text import read_value
from retrospan.schemas import semconv


def _speaks(span: Span) -> bool:
    return "\nspring.ai." in names_of_span(span).listed


def _refine(span: NormalizedSpan) -> None:
    told = read_value(span.sent.attributes.get(semconv.PROMPT)) if span.operation == "inference" else None
    if not isinstance(told, list) or len(told) != len(span.input) or len(told) < 2:
        return
    if not all(isinstance(text, str) for text in told):
        return
    if len(told) == 2:
        span.system, span.input = span.input[0]["parts"], span.input[1:]
    else:
        span.input = [{**message, "role": "unknown"} for message in span.input]


_CONTENT = (
    "an ObservationFilter that adds gen_ai.prompt and gen_ai.completion, as Langfuse's guide to Spring AI has"
)
DIALECT = Dialect(
    name="spring_ai",
    speaks=_speaks,
    refine=_refine,
    switches=(
        Switch("messages", _CONTENT),
        Switch("results", "spring.ai.tools.observations.include-content=true"),
    ),
)
