"""OpenInference: `openinference.span.kind`, indexed `llm.*` attributes, `input.value` and `output.value`."""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect, Switch
from retrospan.ingest.interpret.spans.span import Span
from retrospan.schemas import semconv

_SCOPES = "openinference.instrumentation."


def speaks(span: Span) -> bool:
    """Tell by the kind that a span has at its end, while it is open by its scope."""
    if semconv.OPENINFERENCE_SPAN_KIND in span.attributes:
        return True
    return span.is_open and span.scope.startswith(_SCOPES)


_HIDDEN = (
    "OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS, OPENINFERENCE_HIDE_INPUT_MESSAGES and "
    "OPENINFERENCE_HIDE_OUTPUT_MESSAGES must not be true"
)
SWITCHES = (
    Switch("messages", _HIDDEN),
    Switch("results", _HIDDEN, _SCOPES),
    Switch(
        "conversation", "with using_session(session_id=…) of openinference.instrumentation around the loop"
    ),
)
DIALECT = Dialect(name="openinference", speaks=speaks, switches=SWITCHES)
