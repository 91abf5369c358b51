"""The kinds of the known attributes: a value of another kind is ignored and listed as a problem."""

from __future__ import annotations

from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_fields import whole
from retrospan.schemas import semconv
from retrospan.schemas.attributes import STEP_INDEX, STEP_NAME, STEP_TOTAL

_TEXTS = (
    semconv.OPERATION_NAME,
    semconv.PROVIDER_NAME,
    semconv.SYSTEM,
    semconv.REQUEST_MODEL,
    semconv.RESPONSE_MODEL,
    semconv.RESPONSE_ID,
    semconv.CONVERSATION_ID,
    semconv.AGENT_NAME,
    semconv.AGENT_VERSION,
    semconv.TOOL_NAME,
    semconv.TOOL_CALL_ID,
    semconv.ERROR_TYPE,
    semconv.SESSION_ID,
    semconv.OPENINFERENCE_SPAN_KIND,
    semconv.LLM_MODEL_NAME,
    semconv.TRACELOOP_SPAN_KIND,
    STEP_NAME,
)
_COUNTS = (
    semconv.USAGE_INPUT_TOKENS,
    semconv.USAGE_OUTPUT_TOKENS,
    semconv.USAGE_PROMPT_TOKENS,
    semconv.USAGE_COMPLETION_TOKENS,
    semconv.USAGE_CACHE_READ_INPUT_TOKENS,
    semconv.USAGE_REASONING_OUTPUT_TOKENS,
    semconv.LLM_TOKEN_COUNT_PROMPT,
    semconv.LLM_TOKEN_COUNT_COMPLETION,
    STEP_INDEX,
    STEP_TOTAL,
)


def check_kinds(span: Span, problems: ParseIssues) -> None:
    """List the known attributes of a span whose value is of another kind than they hold; null is not a value at all."""
    attributes = span.attributes
    for key in _TEXTS:
        value = attributes.get(key)
        if value is not None and not isinstance(value, str):
            problems.add(span.span_id, key, value, f"text expected, not {_named(value)}")
    for key in _COUNTS:
        value = attributes.get(key)
        if value is not None and whole(value) is None:
            problems.add(span.span_id, key, value, "not a whole number of at least 0")


def _named(value: object) -> str:
    names = {bool: "a truth value", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "something else")
