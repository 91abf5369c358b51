"""A model request apart from its messages: models, parameters, tools, tokens, finish reasons."""

from __future__ import annotations

import re
from functools import cache

from retrospan.ingest.interpret.messages.provider_payloads import parse_request
from retrospan.ingest.interpret.messages.response_ids import find_response_id
from retrospan.ingest.interpret.messages.response_usage import parse_usage
from retrospan.ingest.interpret.normalize.model_names import VERSION, is_version
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.interpret.spans.exchange import REQUEST_MODEL
from retrospan.ingest.interpret.spans.name_words import ANSWERER, MODELS
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.small_shapes import (
    TYPED,
    entity_named,
    parameters_by_shape,
    usage_beside,
    usage_by_shape,
)
from retrospan.ingest.interpret.spans.span_fields import SpanFields, whole
from retrospan.ingest.interpret.spans.unflatten import unflatten
from retrospan.ingest.interpret.spans.vocabulary import Names
from retrospan.schemas import semconv

#: How a span of a model call is called after its provider and the model.
_MODEL_OF = re.compile(r"[A-Za-z]\w*/[\w.:-]+")
#: Finish reasons of an answer that never came.
_FAILED = {"error", "failed"}
#: Where a client sends its requests.
_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
#: How parameters and attributes are called that hold the name of a model and nothing else.
_MODEL_FIELDS = ("model", "model_name", "model_id")
#: What the fields of a response have, and the parameters of a request have not.
_OF_RESPONSE = {"id", "created_at"}
#: How a list is called that a program keeps of what it was answered.
_RESPONSES = "responses"
#: How an event may say how an answer ended.
_FINISH = "finish_reason"
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
#: Providers whose own count of input has in it what was cached: more than all of it is a contradiction, not a habit.
_COUNTING_ALL = ("openai", "azure")
#: How instrumentations call a model that they cannot tell.
_UNKNOWN = frozenset(("unknown", "unknown_model", "unknown-model"))


def read_request(
    places: SpanFields, metadata: dict[str, object], span: NormalizedSpan, problems: ParseIssues
) -> None:
    """Read a model request, all but its content, in place."""
    names = places.names
    invocation = places.value(names.parameter_objects)
    invocation = invocation if isinstance(invocation, dict) else {}
    span.provider = places.text(*names.providers)
    span.response_id = places.text(*names.response_ids) or _id_of(places.exchange)
    if span.response_id is None and span.operation == "inference":
        span.response_id = find_response_id(places.any(*names.responses))
    _read_models(places, metadata, invocation, span)
    span.previous_response_id = places.text(*names.previous_responses)
    span.stores_history = places.text(semconv.OPENAI_API_TYPE) == "responses"
    _read_parameters(places, invocation, span)
    _read_definitions(places, span, problems)
    span.finish_reasons = _finish_reasons(places)
    if not span.finish_reasons and span.operation == "inference":
        ended = places.text(*_ends_of(names.indexed_answers)) or _ended_beside(places)
        span.finish_reasons = [ended] if ended else []
    if span.operation == "inference" and span.finish_reasons and {*span.finish_reasons} <= _FAILED:
        span.failed = True
    span.tokens = TokenUsage(
        places.count(*names.input_tokens),
        places.count(*names.output_tokens),
        places.count(*names.cached_tokens),
        places.count(*names.reasoning_tokens),
        places.count(*names.written_tokens),
        places.counts(names.modal_tokens),
    )
    if span.tokens.input is not None and span.tokens.input == places.count(names.uncached_tokens):
        # What was read from or written to the cache stands apart; another count is the whole.
        apart = (places.count(key) for key in names.tokens_apart)
        span.tokens.input += sum(count or 0 for count in apart)
    else:
        _add_parts_apart(places, span)
    if span.operation in ("agent", "workflow") and span.tokens.input is None:
        rolled_up = places.value(*names.usage)
        if isinstance(rolled_up, dict):
            used = parse_usage({"usage": rolled_up})
            span.tokens.input, span.tokens.output = used.input, used.output
    if span.operation == "inference":
        span.first_chunk_ms = _first_chunk_ms(places)
        span.prompt_name = places.text(semconv.PROMPT_NAME)
        span.prompt_version = places.text(semconv.PROMPT_VERSION)
        _complete(places, span)
        if span.request_model is None or span.response_model is None:
            _read_named_models(places, span)


def _add_parts_apart(places: SpanFields, span: NormalizedSpan) -> None:
    """Add what was read from and written to a cache to a count of input that leaves them out, in place: it is less than they
    are, and no total says otherwise, or makes up the total only with them."""
    tokens = span.tokens
    parts = (tokens.cached or 0) + (tokens.written or 0)
    if tokens.input is None or not parts or tokens.modal:
        return
    total = places.count(*places.names.total_tokens)
    without = tokens.input + (tokens.output or 0)
    leaves_out = parts > tokens.input and not (span.provider or "").lower().startswith(_COUNTING_ALL)
    if total == without + parts or (leaves_out and total in (None, without)):
        tokens.input = whole(tokens.input + parts)


def _read_models(
    places: SpanFields, metadata: dict[str, object], invocation: dict[str, object], span: NormalizedSpan
) -> None:
    names = places.names
    asked = invocation.get("model") or invocation.get("model_name") or invocation.get("model_id")
    ls_model = metadata.get("ls_model_name")
    span.request_model = (
        _model(places, *names.request_models)
        or (asked if isinstance(asked, str) and asked else None)
        or (ls_model.strip('"') if isinstance(ls_model, str) and ls_model.strip('"') else None)
    )
    if metadata.get("object") == "response" and not span.failed:
        # The response lies there field by field: the model among them is the one that answered.
        span.response_id = span.response_id or _text(metadata.get("id"))
        span.response_model = _text(metadata.get("model")) or _text(ls_model)
    labelled = span.request_model
    span.response_model = _model(places, *names.response_models) or span.response_model
    if span.response_model is None and not span.failed and places.has_words("answerer"):
        span.response_model = _only({_text(name) for name in places.said(ANSWERER)} - _UNKNOWN)
    named = _model(places, *names.models)
    plain = places.text(*names.plain_models)
    if plain and span.request_model == span.response_model and _is_alias(plain, span.request_model or ""):
        span.request_model = plain  # the request as it was sent: the other names what it came to
    elif span.request_model == span.response_model and VERSION.search(span.request_model or ""):
        span.request_model = _named_beside(places, span) or span.request_model
    if span.request_model is None:
        # In a whole exchange the response's model stands over the one that was asked for.
        whole = places.any(*names.requests)
        known = places.exchange
        model = (
            known.get(REQUEST_MODEL) if known and whole is known else parse_request(places.read(whole)).model
        )
        span.request_model = model if isinstance(model, str) and model else named
        if span.request_model is None and span.operation == "inference":
            asked_with = parameters_by_shape(span.sent.attributes, places.read) or {}
            told = (asked_with.get(key) for key in _MODEL_FIELDS)
            span.request_model = next((name for name in told if isinstance(name, str) and name), None)
    elif span.response_model is None and span.operation == "inference" and VERSION.search(span.request_model):
        _read_told_models(places, span)
    if span.provider and (span.request_model or "").startswith(f"{span.provider}/"):
        # A gateway is told the provider by the model's name.
        span.request_model = (span.request_model or "").removeprefix(f"{span.provider}/")
    if (
        span.response_model is None
        and not span.failed
        and span.operation == "inference"
        and named != labelled
    ):
        span.response_model = named


def _read_told_models(places: SpanFields, span: NormalizedSpan) -> None:
    """Tell by an object of parameters which model it is that is called the one asked for, and has a date: that which
    answered, where the parameters name it without; or where they are those of the response, with its id and its time. An
    attribute of the model's name alone tells it as they do."""
    asked = _named_beside(places, span)
    if asked is not None and not span.failed:
        span.request_model, span.response_model = asked, span.request_model
        return
    for value in places.all[0].values():
        said = (
            places.read(value) if isinstance(value, str) and value[:1] == "{" and '"model"' in value else None
        )
        model = said.get("model") if isinstance(said, dict) else None
        if not isinstance(said, dict) or not isinstance(model, str) or "messages" in said:
            continue
        if model == span.request_model and said.keys() >= _OF_RESPONSE and not span.failed:
            span.response_model = model
        elif is_version(span.request_model, model):
            span.request_model, span.response_model = model, None if span.failed else span.request_model


def _named_beside(places: SpanFields, span: NormalizedSpan) -> str | None:
    """Return the name, without its date, of the model that is called the one asked for, where an attribute of a model's name
    alone has it."""
    beside = (
        _text(value) for name, value in places.named(MODELS) if name.rpartition(".")[2] in _MODEL_FIELDS
    )
    return next((model for model in beside if is_version(span.request_model, model)), None)


def _read_named_models(places: SpanFields, span: NormalizedSpan) -> None:
    """Tell by the names themselves which of two models was asked for, and which one answered: a version of it."""
    if span.request_model is None:
        named = places.unlabelled_model or (
            entity_named(span.sent.attributes, "model") if TYPED in places.listed else None
        )
        span.request_model = named if named != span.response_model else None
    if span.request_model is None:
        said = span.sent.name.partition("/")[2] if _MODEL_OF.fullmatch(span.sent.name) else ""
        is_told = span.sent.name in span.sent.attributes.values()
        span.request_model = said if said and is_told and said != span.response_model else None
    if span.response_model is not None or span.failed or span.request_model is None:
        return
    told = {name.strip('"') for name in places.said(MODELS) if isinstance(name, str)}
    is_labelled = places.text(*places.names.request_models) is not None
    name = VERSION.sub("", span.request_model)
    if name != span.request_model and name in told and not is_labelled:
        span.request_model, span.response_model = name, span.request_model
    else:
        versions = [each for each in told if is_version(each, span.request_model)]
        span.response_model = versions[0] if len(versions) == 1 else None


def _text(value: object) -> str | None:
    return value.strip('"') or None if isinstance(value, str) else None


def _only(told: set[str | None]) -> str | None:
    return told.pop() if len(told) == 1 else None


def _id_of(exchange: dict[str, object] | None) -> str | None:
    found = exchange.get("id") if exchange is not None else None
    return found if isinstance(found, str) and found else None


def knows_no_model(places: SpanFields) -> bool:
    """Tell whether a span says of both the model that was asked and the one that answered that it does not know them."""
    names = places.names
    told = (places.text(*names.request_models), places.text(*names.response_models))
    return all(name in _UNKNOWN for name in told)


def _model(places: SpanFields, *keys: str) -> str | None:
    """Return the first model that is named; `unknown` and the like is what instrumentations call one that they cannot tell."""
    first = places.text(*keys)
    if first not in _UNKNOWN:
        return first
    names = (places.text(key) for key in keys)
    return next((name for name in names if name and name not in _UNKNOWN), None)


def _is_alias(name: str, model: str) -> bool:
    """Tell whether a name is the model's without its date or version."""
    return model != name and model.startswith(name)


def _read_parameters(places: SpanFields, invocation: dict[str, object], span: NormalizedSpan) -> None:
    for prefix in places.names.parameter_prefixes:
        for key, value in places.under(prefix):
            if key not in ("model", "maxRetries") and value is not None:
                span.parameters.setdefault(key, value)
    if not span.parameters:
        span.parameters = {k: v for k, v in invocation.items() if v is not None and k not in _NO_PARAMETERS}
    for key in [key for key, value in span.parameters.items() if _is_address(value)]:
        del span.parameters[key]


def _is_address(value: object) -> bool:
    """Tell whether a value says where a request was sent, which is not part of what was asked."""
    return isinstance(value, str) and _ADDRESS.fullmatch(value) is not None


def _read_definitions(places: SpanFields, span: NormalizedSpan, problems: ParseIssues) -> None:
    names = places.names
    definitions = places.any(*names.definitions)
    tools = places.read(definitions)
    if isinstance(tools, str):
        problems.add(span.sent.span_id, semconv.TOOL_DEFINITIONS, definitions, "not JSON")
        tools = None
    if tools is None:
        listed = [tool.get("tool") for tool in _indexed(places, names.indexed_schemas)]
        tools = [tool.get("json_schema") for tool in listed if isinstance(tool, dict)]
        tools = tools or _indexed(places, names.indexed_functions) or None
    span.tool_definitions = [places.read(tool) for tool in tools] if isinstance(tools, list) else tools


def _indexed(places: SpanFields, prefix: str) -> list[dict[str, object]]:
    return unflatten(places.all[0], prefix) if prefix in places.indexed else []


@cache
def _ends_of(indexed_answers: Names) -> Names:
    """Return where the first of some answers with numbers in their names says how it ended."""
    return tuple(f"{prefix}.0.finish_reason" for prefix in indexed_answers)


def _finish_reasons(places: SpanFields) -> list[str]:
    value = places.value(*places.names.finish_reasons)
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _ended_beside(places: SpanFields) -> str | None:
    """Return how an answer ended, where an event says so beside the counts of its tokens."""
    said = (told.get(_FINISH) for told in places.beside() if _FINISH in told)
    return next((ended for ended in said if isinstance(ended, str) and ended), None)


def _first_chunk_ms(places: SpanFields) -> float | None:
    """Return the milliseconds until the first chunk of the answer: the conventions give seconds."""
    seconds = places.number(*places.names.first_chunk)
    return seconds * 1000 if seconds is not None else places.number(*places.names.first_chunk_ms)


def _complete(places: SpanFields, span: NormalizedSpan) -> None:
    """Complete a model call from the whole response, where attributes of their own say nothing."""
    names, tokens = places.names, span.tokens
    lacks_tokens = tokens.input is None or tokens.output is None
    lacks_model = not span.failed and span.response_model in (None, span.request_model)
    if not (lacks_tokens or lacks_model):
        return
    said = places.value(*names.usage)
    usage = (
        parse_usage({"usage": said})
        if isinstance(said, dict)
        else parse_usage(places.value(*names.responses))
    )
    if usage.input is None and usage.output is None and span.tokens.input is None:
        by_shape = usage_by_shape(span.sent.attributes, places.read)
        by_shape = usage_beside(places.beside()) if by_shape is None else by_shape
        usage = parse_usage({"usage": by_shape}) if by_shape is not None else usage
    if usage.model is None and isinstance(said, dict):
        usage.model = parse_usage(places.value(*names.responses)).model
    counted_alike = tokens.input in (None, usage.input) and tokens.output in (None, usage.output)
    if lacks_tokens and counted_alike:
        # Of one side that an attribute counts the response has to say the same.
        tokens.input, tokens.output = usage.input, usage.output
        tokens.cached = tokens.cached if tokens.cached is not None else usage.cached
        tokens.written = tokens.written if tokens.written is not None else usage.written
        tokens.reasoning = tokens.reasoning if tokens.reasoning is not None else usage.reasoning
    if lacks_model:
        kept = None if usage.model else _version_in_kept_response(places, span.request_model)
        span.response_model = usage.model or kept or span.response_model


def _version_in_kept_response(places: SpanFields, asked: str | None) -> str | None:
    """Return the version of a model that the only response names which a program keeps among what it notes of a request."""
    for value in places.all[0].values() if asked else ():
        if isinstance(value, str) and value[:1] == "{" and _RESPONSES in value:
            kept = places.read(value)
            for name, listed in kept.items() if isinstance(kept, dict) else ():
                if name.endswith(_RESPONSES) and isinstance(listed, list) and len(listed) == 1:
                    model = parse_usage(listed[0]).model
                    if is_version(model, asked):
                        return model
    return None
