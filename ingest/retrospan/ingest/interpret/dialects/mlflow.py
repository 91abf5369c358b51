"""MLflow's tracing, exported over OTLP: `mlflow.*`.

Particular to it: what a span returned that is not an object of its own is the only value of one, `{"_value": …}`.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects.dialect import Dialect
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import Span

_WRAPPED = {"_value"}


def _speaks(span: Span) -> bool:
    return span.scope.startswith("mlflow.")


def _refine(span: NormalizedSpan) -> None:
    span.framework_output = _unwrapped(span.framework_output)
    span.result = _unwrapped(span.result)


def _unwrapped(value: object) -> object:
    return value["_value"] if isinstance(value, dict) and value.keys() == _WRAPPED else value


DIALECT = Dialect(name="mlflow", speaks=_speaks, refine=_refine)
