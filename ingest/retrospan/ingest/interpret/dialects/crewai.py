"""CrewAI through OpenInference.

Of its own: what a crew is asked stands in its tasks, not in its input.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects import openinference
from retrospan.ingest.interpret.dialects.dialect import Dialect, Page, of_package
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.json_text import read_value


def _speaks(span: Span) -> bool:
    return openinference.speaks(span) and span.scope.endswith("instrumentation.crewai")


def _refine(reading: NormalizedSpan) -> None:
    tasks = read_value(reading.span.attributes.get("crew_tasks"))
    if isinstance(tasks, list) and reading.operation in ("agent", "workflow", "step"):
        asked = [task.get("description") for task in tasks if isinstance(task, dict)]
        texts = [text for text in asked if isinstance(text, str) and text]
        if texts:
            reading.framework_input = {"task": "\n\n".join(texts)}


_PAGE = Page(
    title="CrewAI, with OpenInference",
    recognised="the attribute `openinference.span.kind`, and a scope that ends in `instrumentation.crewai`",
    sources=openinference.SOURCES,
    producers=(
        of_package("CrewAI", "openinference-instrumentation-crewai", "token counts", "a conversation"),
    ),
    own="What a crew is asked stands in its tasks (`crew_tasks`), not in its input.",
    is_recorded=False,
)
DIALECT = Dialect(
    name="openinference.crewai",
    speaks=_speaks,
    page=_PAGE,
    refine=_refine,
    switches=openinference.SWITCHES,
)
