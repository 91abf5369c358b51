"""What a response says of itself beside its answer: the model that answered, and its counts of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from retrospan.ingest.interpret.messages.provider_payloads import flat, told_value
from retrospan.ingest.interpret.spans.pyrepr import read_repr, read_response, tells_response
from retrospan.ingest.interpret.spans.span_fields import whole

_USAGES = (
    "usage",
    "usage_metadata",
    "usageMetadata",
    "token_usage",
    "tokenUsage",
    "models_usage",
    "usage_details",
)
#: Details of counts, by the APIs of OpenAI and by LangChain.
_GIVEN = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_MADE = ("completion_tokens_details", "output_tokens_details", "output_token_details")
_ANTHROPIC = {"cache_read_input_tokens", "cache_creation_input_tokens"}
_NOT_ANTHROPIC = {"prompt_tokens", "total_tokens", "input_token_details", "input_tokens_details"}
_CACHED = ("cached_tokens", "cache_read")
_MODELS = ("model", "model_version", "modelVersion", "model_name")
_INNER = (
    "raw",
    "custom",
    "response",
    "llm_output",
    "llmOutput",
    "message",
    "result",
    "meta",
    "response_metadata",
    "responseMetadata",
    "response_meta",
    "kwargs",
)


@dataclass(slots=True)
class Usage:
    """What a response says of itself beside its answer."""

    model: str | None = None
    input: int | None = None
    output: int | None = None
    cached: int | None = None
    written: int | None = None
    reasoning: int | None = None


def parse_usage(value: object) -> Usage:
    """Return model and token counts of a response, wherever in it they stand."""
    found = Usage()
    for place in _responses(told_value(value)):
        usage = _usage_in(place)
        model = next((named for key in _MODELS if isinstance(named := place.get(key), str)), None)
        found.model = found.model or model
        if usage is not None and found.input is None:
            found.input = _first(
                usage,
                "input_tokens",
                "prompt_tokens",
                "prompt_token_count",
                "promptTokenCount",
                "inputTokens",
                "promptTokens",
                "inputTokenCount",
                "prompt_eval_count",
                "input",
            )
            found.output = _first(
                usage,
                "output_tokens",
                "completion_tokens",
                "candidates_token_count",
                "candidatesTokenCount",
                "outputTokens",
                "completionTokens",
                "outputTokenCount",
                "eval_count",
                "output",
            )
            found.cached = _first(
                usage, "cache_read_input_tokens", "cached_content_token_count", "cachedContentTokenCount"
            )
            found.cached = (
                found.cached if found.cached is not None else _first(_inside(usage, _GIVEN), *_CACHED)
            )
            found.written = _first(usage, "cache_creation_input_tokens")
            found.reasoning = _first(usage, "thoughts_token_count", "thoughtsTokenCount")
            if found.reasoning is not None and found.output is not None:
                found.output += found.reasoning  # Gemini counts its thoughts apart
            if found.reasoning is None:
                found.reasoning = _first(_inside(usage, _MADE), "reasoning_tokens", "reasoning")
            _add_parts(found, usage)
            if found.input is not None and usage.keys() >= _ANTHROPIC and not usage.keys() & _NOT_ANTHROPIC:
                # The Anthropic API counts what was read from and written to the cache apart, and gives no total.
                found.input += (found.cached or 0) + (found.written or 0)
    return found


def _usage_in(place: dict[str, object]) -> dict[str, object] | None:
    """Return the counts of a response: those of Ollama stand in the response itself, those of Cohere once more inside."""
    if "prompt_eval_count" in place or "eval_count" in place:
        return place
    usage = next((inner for key in _USAGES if isinstance(inner := place.get(key), dict)), None)
    for key in ("tokens", "billed_units"):
        inner = (usage or place).get(key)
        if isinstance(inner, dict) and "input_tokens" in inner:
            return inner
    return usage


def _add_parts(found: Usage, usage: dict[str, object]) -> None:
    """Add the parts of a count that stand beside it, such as `input_cache_read`, where the total says that they do."""
    total = _first(usage, "total", "total_tokens")
    if total is None or found.input is None or found.output is None or "input" not in usage:
        return
    if found.cached is None:
        found.cached = _first(usage, "input_cache_read", "cache_read_input_tokens")
    if found.reasoning is None:
        found.reasoning = _first(usage, "output_reasoning")
    given, made = (
        sum(whole(count) or 0 for name, count in usage.items() if name.startswith(side))
        for side in ("input_", "output_")
    )
    if found.input + found.output != total and found.input + given + found.output + made == total:
        found.input, found.output = found.input + given, found.output + made


def _inside(usage: dict[str, object], keys: tuple[str, ...]) -> dict[str, object]:
    """Return the details that a count is given with."""
    return next((inner for key in keys if isinstance(inner := usage.get(key), dict)), {})


def _responses(value: object, depth: int = 4) -> Iterator[dict[str, object]]:
    """Yield the value and the responses inside it that frameworks keep beside their own form."""
    if isinstance(value, str) and depth:
        if tells_response(value):
            value = read_response(value)
        elif value.endswith(")"):
            value = read_repr(value)
    if not isinstance(value, dict):
        return
    yield value
    if depth:
        for key in _INNER:
            if key in value:
                yield from _responses(value[key], depth - 1)
        for key in ("generations", "replies"):
            if key in value:
                yield from _responses(next(flat(value[key]), None), depth - 1)


def _first(usage: dict[str, object], *keys: str) -> int | None:
    for key in keys:
        if key in usage:
            value = usage[key]
            # A count may stand with its parts, as in `{"total": 20, "noCache": 20}`.
            number = whole(value.get("total") if isinstance(value, dict) else value)
            if number is not None:
                return number
    return None
