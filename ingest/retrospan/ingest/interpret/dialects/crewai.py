"""CrewAI through OpenInference.

Of its own: what a crew is asked stands in its tasks, not in its input.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects import openinference
from retrospan.ingest.interpret.dialects.dialect import Dialect
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.json_text import read_value


def _speaks(span: Span) -> bool:
    return openinference.speaks(span) and span.scope.endswith("instrumentation.crewai")


def _refine(span: NormalizedSpan) -> None:
    tasks = read_value(span.sent.attributes.get("crew_tasks"))
    if isinstance(tasks, list) and span.operation in ("agent", "workflow", "step"):
        asked = [task.get("description") for task in tasks if isinstance(task, dict)]
        texts = [text for text in asked if isinstance(text, str) and text]
        if texts:
            span.framework_input = {"task": "\n\n".join(texts)}


DIALECT = Dialect(
    name="openinference.crewai",
    speaks=_speaks,
    refine=_refine,
    switches=openinference.SWITCHES,
)
