"""One small module per instrumentation dialect: what only it does, as pure functions on one normalized span.

A dialect is recognised by its scope's name first, by a marker attribute second. What several share belongs to the
general rules.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects import (
    autogen,
    crewai,
    genai,
    google_adk,
    langchain,
    langsmith,
    llama_index,
    mlflow,
    openinference,
    openllmetry,
    vercel_ai,
)
from retrospan.ingest.interpret.dialects.dialect import Dialect
from retrospan.ingest.interpret.spans.span import Span

#: In order of recognition: the special before the general.
DIALECTS: tuple[Dialect, ...] = (
    langchain.DIALECT,
    google_adk.DIALECT,
    autogen.DIALECT,
    crewai.DIALECT,
    llama_index.DIALECT,
    openinference.DIALECT,
    langsmith.DIALECT,
    mlflow.DIALECT,
    vercel_ai.DIALECT,
    openllmetry.DIALECT,
    genai.DIALECT,
)


def dialect_of(span: Span) -> Dialect | None:
    """Return the dialect a span speaks, or None when the general rules are all there is."""
    return next((dialect for dialect in DIALECTS if dialect.speaks(span)), None)
