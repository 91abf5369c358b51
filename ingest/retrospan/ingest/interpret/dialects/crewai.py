"""CrewAI through OpenInference.

Of its own: what a crew is asked stands in its tasks, not in its input; the tokens of its model calls stand in its output,
and only there.
"""

from __future__ import annotations

from retrospan.ingest.interpret.dialects import openinference
from retrospan.ingest.interpret.dialects.dialect import Dialect
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_fields import whole
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
    if span.operation == "workflow" and isinstance(span.framework_output, dict):
        _read_tokens(span.framework_output, span)


def _read_tokens(returned: dict[str, object], span: NormalizedSpan) -> None:
    """Read the tokens of a crew. Its client counts on from run to run: only a count of as many requests as there are answers
    is one of this run alone."""
    used, tasks = returned.get("token_usage"), returned.get("tasks_output")
    if not isinstance(used, dict) or not isinstance(tasks, list):
        return
    told = (task.get("messages") for task in tasks if isinstance(task, dict))
    messages = [message for each in told if isinstance(each, list) for message in each]
    answers = [each for each in messages if isinstance(each, dict) and each.get("role") == "assistant"]
    if used.get("successful_requests") == len(answers):
        span.tokens = TokenUsage(
            whole(used.get("prompt_tokens")),
            whole(used.get("completion_tokens")),
            whole(used.get("cached_prompt_tokens")),
            whole(used.get("reasoning_tokens")),
        )


DIALECT = Dialect(
    name="openinference.crewai",
    speaks=_speaks,
    refine=_refine,
    switches=openinference.SWITCHES,
)
