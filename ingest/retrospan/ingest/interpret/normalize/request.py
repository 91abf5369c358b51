"""What a span says of a model request beside its content: models, parameters, tools, tokens, finish reasons."""

from __future__ import annotations

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan, TokenUsage
from retrospan.ingest.interpret.normalize.provider_payloads import parse_request, parse_usage
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span_fields import GIVEN, RETURNED, SpanFields
from retrospan.ingest.interpret.spans.unflatten import unflatten
from retrospan.ingest.json_text import read_value

_REQUEST_PREFIX = "gen_ai.request."
_SETTINGS_PREFIX = "ai.settings."
_NO_PARAMETERS = {
    "model",
    "model_name",
    "tools",
    "messages",
    "functions",
    "instructions",
    "_type",
    "id",
    "created_at",
}

#: Values that hold a whole request, and a whole response.
REQUESTS = (
    "gcp.vertex.agent.llm_request",
    "mlflow.spanInputs",
    "ai.prompt",
    "gen_ai.prompt",
    "input.value",
    "traceloop.entity.input",
    "request_data",
    GIVEN,
)
RESPONSES = (
    "gcp.vertex.agent.llm_response",
    "mlflow.spanOutputs",
    "gen_ai.completion",
    "output.value",
    "traceloop.entity.output",
    "response_data",
    RETURNED,
)

_INPUT_TOKENS = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
    "llm.usage.prompt_tokens",
    "input_tokens",
)
_OUTPUT_TOKENS = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
    "llm.usage.completion_tokens",
    "output_tokens",
)
_CACHED_TOKENS = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.cachedInputTokens",
    "cache_read_tokens",
)
_REASONING_TOKENS = (
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.reasoning_tokens",
    "llm.token_count.completion_details.reasoning",
    "ai.usage.reasoningTokens",
)


def read_request(
    places: SpanFields, metadata: dict[str, object], reading: NormalizedSpan, problems: ParseIssues
) -> None:
    """Read a model request, all but its content, in place."""
    invocation = places.value("llm.invocation_parameters")
    invocation = invocation if isinstance(invocation, dict) else {}
    reading.provider = places.text(
        "gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider"
    )
    _read_models(places, metadata, invocation, reading)
    reading.response_id = places.text("gen_ai.response.id", "ai.response.id")
    reading.previous_response_id = places.text("gen_ai.request.previous_response.id")
    reading.stores_history = places.text("openai.api.type") == "responses"
    _read_parameters(places, invocation, reading)
    _read_definitions(places, reading, problems)
    reading.finish_reasons = _finish_reasons(places)
    reading.tokens = TokenUsage(
        places.count(*_INPUT_TOKENS),
        places.count(*_OUTPUT_TOKENS),
        places.count(*_CACHED_TOKENS),
        places.count(*_REASONING_TOKENS),
    )
    if reading.tokens.input is not None and "input_tokens" in reading.span.attributes:
        # The count of the Anthropic API itself: what was read from or written to its cache stands apart.
        apart = (places.count(key) for key in ("cache_read_tokens", "cache_creation_tokens"))
        reading.tokens.input += sum(count or 0 for count in apart)
    if reading.operation == "inference":
        _complete(places, reading)


def _read_models(
    places: SpanFields, metadata: dict[str, object], invocation: dict[str, object], reading: NormalizedSpan
) -> None:
    asked = invocation.get("model") or invocation.get("model_name") or invocation.get("model_id")
    ls_model = metadata.get("ls_model_name")
    reading.request_model = (
        _model(
            places,
            "gen_ai.request.model",
            "llm.request.model_name",
            "ai.model.id",
            "langfuse.observation.model.name",
            "model",
        )
        or (asked if isinstance(asked, str) and asked else None)
        or (ls_model if isinstance(ls_model, str) and ls_model else None)
    )
    reading.response_model = _model(
        places, "gen_ai.response.model", "llm.response.model_name", "ai.response.model"
    )
    named = _model(places, "llm.model_name", "mlflow.llm.model")
    plain = places.text("model")
    if plain and reading.request_model == reading.response_model and _is_alias(plain, reading.request_model):
        reading.request_model = plain  # the request as it was sent: the other names what it came to
    if reading.request_model is None:
        reading.request_model = parse_request(places.any(*REQUESTS)).model or named
    if reading.response_model is None and not reading.failed and reading.operation == "inference":
        reading.response_model = named


def _model(places: SpanFields, *keys: str) -> str | None:
    """Return the first model that is named; `unknown` is what OpenLLMetry calls one that it cannot tell."""
    names = (places.text(key) for key in keys)
    return next((name for name in names if name and name != "unknown"), None)


def _is_alias(name: str, model: str | None) -> bool:
    """Tell whether a name is the model's without its date or version."""
    return model is not None and model != name and model.startswith(name)


def _read_parameters(places: SpanFields, invocation: dict[str, object], reading: NormalizedSpan) -> None:
    for prefix in (_REQUEST_PREFIX, _SETTINGS_PREFIX):
        for key, value in places.under(prefix):
            if key not in ("model", "maxRetries") and value is not None:
                reading.parameters.setdefault(key, value)
    if not reading.parameters:
        reading.parameters = {
            k: v for k, v in invocation.items() if v is not None and k not in _NO_PARAMETERS
        }


def _read_definitions(places: SpanFields, reading: NormalizedSpan, problems: ParseIssues) -> None:
    definitions = places.any("gen_ai.tool.definitions", "mlflow.chat.tools", "ai.prompt.tools")
    tools = read_value(definitions)
    if isinstance(tools, str):
        problems.add(reading.span.span_id, "gen_ai.tool.definitions", definitions, "not JSON")
        tools = None
    if tools is None:
        listed = [tool.get("tool") for tool in unflatten(reading.span.attributes, "llm.tools")]
        tools = [tool.get("json_schema") for tool in listed if isinstance(tool, dict)]
        tools = tools or unflatten(reading.span.attributes, "llm.request.functions") or None
    reading.tool_definitions = [read_value(tool) for tool in tools] if isinstance(tools, list) else tools


def _finish_reasons(places: SpanFields) -> list[str]:
    value = places.value(
        "gen_ai.response.finish_reasons",
        "gen_ai.response.finish_reason",
        "llm.finish_reason",
        "ai.response.finishReason",
        "gen_ai.response.stop_reason",
    )
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _complete(places: SpanFields, reading: NormalizedSpan) -> None:
    """Complete a model call from the whole response, where attributes of their own say nothing."""
    said = places.value("mlflow.chat.tokenUsage", "langfuse.observation.usage_details")
    usage = parse_usage({"usage": said}) if isinstance(said, dict) else parse_usage(places.any(*RESPONSES))
    tokens = reading.tokens
    if tokens.input is None and tokens.output is None:
        tokens.input, tokens.output = usage.input, usage.output
        tokens.cached = tokens.cached if tokens.cached is not None else usage.cached
    if not reading.failed and usage.model and reading.response_model in (None, reading.request_model):
        reading.response_model = usage.model
