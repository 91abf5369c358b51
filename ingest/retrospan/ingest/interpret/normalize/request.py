"""A model request apart from its messages: models, parameters, tools, tokens, finish reasons."""

from __future__ import annotations

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan, TokenUsage
from retrospan.ingest.interpret.normalize.provider_payloads import parse_request, parse_usage
from retrospan.ingest.interpret.spans.exchange import REQUEST_MODEL
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span_fields import EXCHANGE, INPUT, OUTPUT, SpanFields
from retrospan.ingest.interpret.spans.unflatten import unflatten
from retrospan.ingest.json_text import read_value
from retrospan.schemas import semconv

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
    semconv.MLFLOW_SPAN_INPUTS,
    "ai.prompt",
    semconv.PROMPT,
    semconv.INPUT_VALUE,
    semconv.TRACELOOP_ENTITY_INPUT,
    "request_data",
    EXCHANGE,
    INPUT,
)
RESPONSES = (
    "gcp.vertex.agent.llm_response",
    semconv.MLFLOW_SPAN_OUTPUTS,
    semconv.COMPLETION,
    semconv.OUTPUT_VALUE,
    semconv.TRACELOOP_ENTITY_OUTPUT,
    "response_data",
    EXCHANGE,
    OUTPUT,
)

_INPUT_TOKENS = (
    semconv.USAGE_INPUT_TOKENS,
    semconv.USAGE_PROMPT_TOKENS,
    semconv.LLM_TOKEN_COUNT_PROMPT,
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
    "llm.usage.prompt_tokens",
    "input_tokens",
)
_OUTPUT_TOKENS = (
    semconv.USAGE_OUTPUT_TOKENS,
    semconv.USAGE_COMPLETION_TOKENS,
    semconv.LLM_TOKEN_COUNT_COMPLETION,
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
    "llm.usage.completion_tokens",
    "output_tokens",
)
_CACHED_TOKENS = (
    semconv.USAGE_CACHE_READ_INPUT_TOKENS,
    "gen_ai.usage.cache_read_input_tokens",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.cachedInputTokens",
    "cache_read_tokens",
)
_REASONING_TOKENS = (
    semconv.USAGE_REASONING_OUTPUT_TOKENS,
    "gen_ai.usage.reasoning_tokens",
    "llm.token_count.completion_details.reasoning",
    "ai.usage.reasoningTokens",
)


def read_request(
    places: SpanFields, metadata: dict[str, object], span: NormalizedSpan, problems: ParseIssues
) -> None:
    """Read a model request, all but its content, in place."""
    invocation = places.value("llm.invocation_parameters")
    invocation = invocation if isinstance(invocation, dict) else {}
    span.provider = places.text(
        semconv.PROVIDER_NAME, semconv.SYSTEM, "llm.provider", "llm.system", "ai.model.provider"
    )
    _read_models(places, metadata, invocation, span)
    span.response_id = places.text(semconv.RESPONSE_ID, "ai.response.id") or _id_of(places.exchange)
    span.previous_response_id = places.text("gen_ai.request.previous_response.id")
    span.stores_history = places.text(semconv.OPENAI_API_TYPE) == "responses"
    _read_parameters(places, invocation, span)
    _read_definitions(places, span, problems)
    span.finish_reasons = _finish_reasons(places)
    span.tokens = TokenUsage(
        places.count(*_INPUT_TOKENS),
        places.count(*_OUTPUT_TOKENS),
        places.count(*_CACHED_TOKENS),
        places.count(*_REASONING_TOKENS),
    )
    if span.tokens.input is not None and "input_tokens" in span.sent.attributes:
        # The count of the Anthropic API itself: what was read from or written to its cache stands apart.
        apart = (places.count(key) for key in ("cache_read_tokens", "cache_creation_tokens"))
        span.tokens.input += sum(count or 0 for count in apart)
    if span.operation == "inference":
        _complete(places, span)


def _read_models(
    places: SpanFields, metadata: dict[str, object], invocation: dict[str, object], span: NormalizedSpan
) -> None:
    asked = invocation.get("model") or invocation.get("model_name") or invocation.get("model_id")
    ls_model = metadata.get("ls_model_name")
    span.request_model = (
        _model(
            places,
            semconv.REQUEST_MODEL,
            "llm.request.model_name",
            "ai.model.id",
            "model",
        )
        or (asked if isinstance(asked, str) and asked else None)
        or (ls_model if isinstance(ls_model, str) and ls_model else None)
    )
    span.response_model = _model(
        places, semconv.RESPONSE_MODEL, "llm.response.model_name", "ai.response.model"
    )
    named = _model(places, semconv.LLM_MODEL_NAME, "mlflow.llm.model", "langfuse.observation.model.name")
    plain = places.text("model")
    if plain and span.request_model == span.response_model and _is_alias(plain, span.request_model or ""):
        span.request_model = plain  # the request as it was sent: the other names what it came to
    if span.request_model is None:
        # In a whole exchange the response's model stands over the one that was asked for.
        whole = places.any(*REQUESTS)
        known = places.exchange
        model = known.get(REQUEST_MODEL) if known and whole is known else parse_request(whole).model
        span.request_model = model if isinstance(model, str) and model else named
    if span.response_model is None and not span.failed and span.operation == "inference":
        span.response_model = named


def _id_of(exchange: dict[str, object] | None) -> str | None:
    found = exchange.get("id") if exchange is not None else None
    return found if isinstance(found, str) and found else None


def _model(places: SpanFields, *keys: str) -> str | None:
    """Return the first model that is named; `unknown` is what OpenLLMetry calls one that it cannot tell."""
    names = (places.text(key) for key in keys)
    return next((name for name in names if name and name != "unknown"), None)


def _is_alias(name: str, model: str) -> bool:
    """Tell whether a name is the model's without its date or version."""
    return model != name and model.startswith(name)


def _read_parameters(places: SpanFields, invocation: dict[str, object], span: NormalizedSpan) -> None:
    for prefix in (_REQUEST_PREFIX, _SETTINGS_PREFIX):
        for key, value in places.under(prefix):
            if key not in ("model", "maxRetries") and value is not None:
                span.parameters.setdefault(key, value)
    if not span.parameters:
        span.parameters = {k: v for k, v in invocation.items() if v is not None and k not in _NO_PARAMETERS}


def _read_definitions(places: SpanFields, span: NormalizedSpan, problems: ParseIssues) -> None:
    definitions = places.any(semconv.TOOL_DEFINITIONS, "mlflow.chat.tools", "ai.prompt.tools")
    tools = read_value(definitions)
    if isinstance(tools, str):
        problems.add(span.sent.span_id, semconv.TOOL_DEFINITIONS, definitions, "not JSON")
        tools = None
    if tools is None:
        listed = [tool.get("tool") for tool in unflatten(span.sent.attributes, "llm.tools")]
        tools = [tool.get("json_schema") for tool in listed if isinstance(tool, dict)]
        tools = tools or unflatten(span.sent.attributes, "llm.request.functions") or None
    span.tool_definitions = [read_value(tool) for tool in tools] if isinstance(tools, list) else tools


def _finish_reasons(places: SpanFields) -> list[str]:
    value = places.value(
        semconv.RESPONSE_FINISH_REASONS,
        "gen_ai.response.finish_reason",
        "llm.finish_reason",
        "ai.response.finishReason",
        "gen_ai.response.stop_reason",
    )
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _complete(places: SpanFields, span: NormalizedSpan) -> None:
    """Complete a model call from the whole response, where attributes of their own say nothing."""
    said = places.value("mlflow.chat.tokenUsage", "langfuse.observation.usage_details")
    usage = parse_usage({"usage": said}) if isinstance(said, dict) else parse_usage(places.any(*RESPONSES))
    tokens = span.tokens
    if tokens.input is None and tokens.output is None:
        tokens.input, tokens.output = usage.input, usage.output
        tokens.cached = tokens.cached if tokens.cached is not None else usage.cached
    if not span.failed and usage.model and span.response_model in (None, span.request_model):
        span.response_model = usage.model
