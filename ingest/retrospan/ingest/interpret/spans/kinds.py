"""What kind of value the known attributes hold: another kind is not a value, and is listed as a problem."""

from __future__ import annotations

from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_fields import whole
from retrospan.schemas.attributes import STEP_INDEX, STEP_NAME, STEP_TOTAL

_TEXTS = (
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.system",
    "gen_ai.request.model",
    "gen_ai.response.model",
    "gen_ai.response.id",
    "gen_ai.conversation.id",
    "gen_ai.agent.name",
    "gen_ai.agent.version",
    "gen_ai.tool.name",
    "gen_ai.tool.call.id",
    "error.type",
    "session.id",
    "openinference.span.kind",
    "llm.model_name",
    "traceloop.span.kind",
    STEP_NAME,
)
_COUNTS = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.prompt_tokens",
    "gen_ai.usage.completion_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.reasoning.output_tokens",
    "llm.token_count.prompt",
    "llm.token_count.completion",
    STEP_INDEX,
    STEP_TOTAL,
)


def check_kinds(span: Span, problems: ParseIssues) -> None:
    """List the known attributes of a span whose value is of another kind than they hold; null is not a value at all."""
    attributes = span.attributes
    for key in _TEXTS:
        value = attributes.get(key)
        if value is not None and not isinstance(value, str):
            problems.add(span.span_id, key, value, f"not a text but {_named(value)}")
    for key in _COUNTS:
        value = attributes.get(key)
        if value is not None and whole(value) is None:
            problems.add(span.span_id, key, value, "not a whole number from 0 on")


def _named(value: object) -> str:
    names = {bool: "a truth value", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "something else")
