"""Spans and log records without their payload: what remains of a run once its content is deleted.

The keys to keep are listed; everything else that a sender wrote is deleted, including unknown attributes.
Ids, names of spans and events, times, kind and status code, resource and scope stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from retrospan.ingest.otlp import lenient
from retrospan.schemas import attributes as conventions
from retrospan.schemas import prompt_records, semconv
from retrospan.schemas.redaction.walk import Field, fields, mark
from retrospan.schemas.wire import DELIMITED, NotAMessage, delimited

_LISTED: list[object] = [{"path": "*", "rule": "retention"}]
#: The value of `retrospan.redacted` on what is bare.
MARK = json.dumps(_LISTED, ensure_ascii=True)
_MARKED = mark(_LISTED)

_OF_METADATA = (
    "langgraph_node",
    "langgraph_step",
    "langgraph_checkpoint_ns",
    "thread_id",
    "session_id",
    "conversation_id",
)
_NAMED = frozenset(
    {
        # What was done, by whom, and with which model.
        *("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.system", "gen_ai.output.type"),
        *("gen_ai.agent.name", "gen_ai.agent.id", "gen_ai.agent.version", "gen_ai.workflow.name"),
        *("gen_ai.request.model", "gen_ai.response.model", "gen_ai.response.id"),
        *(
            "gen_ai.request.previous_response.id",
            "gen_ai.tool.name",
            "gen_ai.tool.type",
            "gen_ai.tool.call.id",
        ),
        *("gen_ai.conversation.id", "gen_ai.session.id", "gen_ai.thread.id", "session.id"),
        *(
            "agent.name",
            "agent_name",
            "tool.name",
            "tool.id",
            "tool_call.id",
            "llm.model_name",
            "llm.provider",
        ),
        *("llm.system", "llm.request.type", "llm.request.model_name", "llm.response.model_name"),
        *("openinference.span.kind", "traceloop.span.kind", "traceloop.entity.name", "langsmith.span.kind"),
        *("traceloop.workflow.name", "traceloop.entity.path", "openai.api.type", "logfire.span_type"),
        *(
            "ai.operationId",
            "ai.telemetry.functionId",
            "ai.functionId",
            "ai.model.id",
            "ai.model.provider",
            "ai.response.id",
        ),
        *("ai.response.model", "ai.toolCall.id", "ai.toolCall.name", "operation.name", "messaging.operation"),
        *("mlflow.spanType", "mlflow.llm.model", "mlflow.spanFunctionName", "mlflow.trace.session"),
        *("langfuse.observation.type", "langfuse.observation.level", "langfuse.observation.model.name"),
        *("langfuse.session.id", "gcp.vertex.agent.session_id", "gcp.vertex.agent.event_id"),
        *("gcp.vertex.agent.invocation_id", "haystack.tool.name", "haystack.component.name"),
        *("spring.ai.tool.definition.name", "lmnr.span.type", "deployment.environment.name"),
        *("deployment.environment", "service.name", "service.version"),
        # How it was set, how it ended, what it took.
        *(
            "gen_ai.request.temperature",
            "gen_ai.request.top_p",
            "gen_ai.request.top_k",
            "gen_ai.request.seed",
        ),
        *("gen_ai.request.max_tokens", "gen_ai.request.choice.count", "gen_ai.request.frequency_penalty"),
        *("gen_ai.request.presence_penalty", "gen_ai.response.finish_reasons"),
        *("gen_ai.response.finish_reason", "gen_ai.response.stop_reason", "llm.finish_reason"),
        *("ai.response.finishReason", "error.type", "exception.type", "exception.escaped"),
        *("http.response.status_code", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
        *("gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens", "gen_ai.usage.total_tokens"),
        *("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
        *(semconv.PROMPT_NAME, semconv.PROMPT_VERSION, semconv.CONVERSATION_COMPACTED),
        *(semconv.EVALUATION_NAME, semconv.EVALUATION_SCORE_VALUE, semconv.EVALUATION_SCORE_LABEL),
        *("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens"),
        *("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens", "llm.usage.total_tokens"),
        *("llm.usage.prompt_tokens", "llm.usage.completion_tokens", "llm.token_count.prompt"),
        *("llm.token_count.completion", "llm.token_count.total", "mlflow.chat.tokenUsage"),
        *("llm.token_count.completion_details.reasoning", "llm.token_count.prompt_details.cache_read"),
        *(
            "ai.usage.promptTokens",
            "ai.usage.completionTokens",
            "ai.usage.inputTokens",
            "ai.usage.outputTokens",
        ),
        *("ai.usage.cachedInputTokens", "ai.usage.reasoningTokens", "ai.usage.totalTokens"),
        *("langfuse.observation.usage_details",),
        # The same of agents that send log records in place of spans.
        *prompt_records.NUMBERS_AND_NAMES,
        conventions.TRACE_MADE_OF,
        # What the agent said of its run, without what it said of the world.
        conventions.RUN_ID,
        conventions.RUN_ORIGIN,
        conventions.RUN_KIND,
        conventions.RUN_FLAGGED,
        # That a span began, and what tells one event from another; its links may hold anything.
        conventions.EVENT_ID,
        conventions.BEGUN_NAME,
        conventions.BEGUN_KIND,
        conventions.BEGUN_PARENT,
        conventions.BEGUN_REMOTE,
        conventions.PROCESS_ID,
        conventions.ALIVE_INTERVAL,
        semconv.PROCESS_PID,
        conventions.STEP_INDEX,
        conventions.STEP_NAME,
        conventions.STEP_TOTAL,
        conventions.ATTEMPT,
        conventions.BACKOFF_MS,
        conventions.STATE_SCHEMA,
        conventions.EFFECT,
        conventions.EFFECT_STATUS,
        conventions.IDEMPOTENCY_KEY,
        conventions.COMPENSATES,
        conventions.OUTPUT_ID,
        conventions.CONTEXT_LIMIT,
        conventions.CONTEXT_TOKENS,
        conventions.ERROR_ORIGIN,
        conventions.ERROR_CLASS,
        conventions.OBSERVATION_ID,
        conventions.ENTITY_TYPE,
        conventions.ENTITY_ID,
        conventions.FIELD,
        conventions.VALID_FROM,
        conventions.SOURCE,
        conventions.CONFIDENCE,
        conventions.PRIORITY,
        conventions.CORRECTION,
        conventions.DECISION_NAME,
        conventions.DECISION_CONFIDENCE,
        conventions.CHECKPOINT_ID,
        conventions.CHECKPOINT_TRIGGER,
        conventions.CHECKPOINT_PARENT,
        conventions.RELATION,
        conventions.SUBJECT,
        conventions.OBJECT,
        conventions.ROLE,
        conventions.COMPACTION_TYPE,
        conventions.COMPACTION_TOKENS_BEFORE,
        conventions.COMPACTION_TOKENS_AFTER,
        conventions.APPROVAL_DECISION,
        conventions.LINK_TYPE,
        conventions.FORK_STEP,
    }
)

#: Field numbers of OTLP 1.x: those that stay whole, and those whose attributes are looked through.
_SPAN_PLAIN = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16})
_SPAN_ATTRIBUTES = 9
_STATUS, _STATUS_CODE = 15, frozenset({3})
_SPAN_PARTS: Mapping[int, tuple[int, frozenset[int]]] = {
    11: (3, frozenset({1, 2, 4})),  # events
    13: (4, frozenset({1, 2, 3, 5, 6})),  # links
    _STATUS: (0, _STATUS_CODE),
}
_LOG_PLAIN = frozenset({1, 2, 3, 7, 8, 9, 10, 11, 12})
_LOG_ATTRIBUTES = 6


@cache
def kept_attributes() -> frozenset[str]:
    """Return the attributes that stay; `insert_bare_spans.sql` and `insert_bare_logs.sql` get the same list."""
    # Imported here: dialects take time to load, and a collector that starts deletes nothing yet.
    from retrospan.ingest.interpret.dialects.vocabulary import EVERY_FAMILY as every

    of_metadata = {prefix + name for prefix in every.metadata_prefixes for name in _OF_METADATA}
    taken = (*every.written_tokens, *every.modal_tokens, *every.first_chunk, *every.first_chunk_ms)
    return _NAMED.union(of_metadata, taken, every.data_sources)


@cache
def _kept_keys() -> frozenset[bytes]:
    return frozenset(key.encode() for key in kept_attributes())


def strip_span(data: bytes) -> bytes:
    """Return an OTLP Span without its payload; the same bytes when it is bare. Raises ValueError for no message."""
    return _bare(_walkable(data, lenient.Span), _SPAN_ATTRIBUTES, _SPAN_PLAIN, _SPAN_PARTS)


def strip_log(data: bytes) -> bytes:
    """Return an OTLP LogRecord without its payload; the same bytes when it is bare. Raises as `strip_span`."""
    return _bare(_walkable(data, lenient.LogRecord), _LOG_ATTRIBUTES, _LOG_PLAIN, {})


def _walkable(data: bytes, member: Any) -> bytes:
    """Return the same bytes, or where they hold fields of a kind that OTLP does not have, the message without these."""
    try:
        for _ in fields(data):
            pass
    except NotAMessage:
        message = member.FromString(data)
        message.DiscardUnknownFields()
        return bytes(message.SerializeToString())
    return data


def _bare(
    data: bytes, attributes: int, plain: frozenset[int], parts: Mapping[int, tuple[int, frozenset[int]]]
) -> bytes:
    kept: list[bytes] = []
    for each in fields(data):
        if each.number in parts and each.wire_type == DELIMITED:
            inner, inner_plain = parts[each.number]
            content = b"".join(
                part.whole
                for part in fields(each.content)
                if part.number in inner_plain or _stays(part, inner)
            )
            kept.append(delimited(each.number, content))
        elif each.number in plain or _stays(each, attributes):
            kept.append(each.whole)
    bare = b"".join(kept) + delimited(attributes, _MARKED)
    # Whether it is bare is not told by the mark: whoever sends may write it.
    return data if bare == data else bare


def _stays(each: Field, attributes: int) -> bool:
    if each.number != attributes or each.wire_type != DELIMITED:
        return False
    keys = [part.content for part in fields(each.content) if part.number == 1]
    return bool(keys) and keys[-1] in _kept_keys()
