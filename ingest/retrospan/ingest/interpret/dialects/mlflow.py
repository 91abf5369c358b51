"""MLflow's tracing, exported over OTLP: `mlflow.*`. The general rules read it whole."""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect
from retrospan.ingest.interpret.spans.span import Span


def _speaks(span: Span) -> bool:
    return span.scope.startswith("mlflow.")


DIALECT = Dialect(name="mlflow", speaks=_speaks)
