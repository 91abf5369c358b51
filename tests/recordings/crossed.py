"""Runs that no recording holds: the spans of one recording, changed in places by what stands in another."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from retrospan.ingest.interpret.spans.span import Event, LogRecord, Span

#: At most so many spans of each recording take part, so that a run is small.
SPANS = 24

#: Attributes that mean the same somewhere.
_ATTRIBUTES = (
    ("gen_ai.input.messages", "llm.input_messages", "llm.prompts", "ai.prompt", "ai.prompt.messages",
     "gcp.vertex.agent.llm_request", "request_data", "input.value", "gen_ai.prompt", "input", "all_messages_events",
     "pydantic_ai.all_messages", "mlflow.spanInputs", "traceloop.entity.input", "langfuse.observation.input"),
    ("gen_ai.output.messages", "llm.output_messages", "llm.choices", "ai.response.text", "ai.response.toolCalls",
     "gcp.vertex.agent.llm_response", "response_data", "output.value", "gen_ai.completion", "output",
     "mlflow.spanOutputs", "traceloop.entity.output", "langfuse.observation.output"),
    ("gen_ai.tool.definitions", "llm.tools", "ai.prompt.tools", "model_request_parameters"),
    ("gen_ai.system_instructions", "system", "instructions"),
    ("langfuse.session.id", "gcp.vertex.agent.session_id", "gen_ai.session.id", "mlflow.trace.session",
     "gen_ai.thread.id", "session.id", "gen_ai.conversation.id", "traceloop.association.properties.thread_id",
     "langsmith.metadata.session_id", "metadata"),
    ("ai.usage.inputTokens", "ai.usage.promptTokens", "llm.usage.prompt_tokens", "input_tokens",
     "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    ("ai.usage.outputTokens", "ai.usage.completionTokens", "llm.usage.completion_tokens", "output_tokens",
     "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    ("gen_ai.usage.cache_read_input_tokens", "llm.token_count.prompt_details.cache_read", "cache_read_tokens",
     "ai.usage.cachedInputTokens", "gen_ai.usage.cache_read.input_tokens"),
    ("gen_ai.usage.reasoning_tokens", "llm.token_count.completion_details.reasoning", "ai.usage.reasoningTokens"),
    ("gen_ai.usage.total_tokens", "llm.usage.total_tokens", "llm.token_count.total"),
    ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "tool_name", "traceloop.entity.name",
     "mlflow.spanFunctionName", "spring.ai.tool.definition.name", "haystack.tool.name", "genkit:name"),
    ("gen_ai.tool.call.id", "ai.toolCall.id", "tool.id", "tool_call.id", "tool_call_id", "tool_use_id"),
    ("gen_ai.tool.call.arguments", "ai.toolCall.args", "ai.toolCall.input", "gcp.vertex.agent.tool_call_args",
     "gen_ai.tool.args", "tool_arguments", "gen_ai.tool.input", "tool_input", "tool.parameters"),
    ("gen_ai.tool.call.result", "ai.toolCall.result", "ai.toolCall.output", "gcp.vertex.agent.tool_response",
     "tool_response", "gen_ai.tool.output", "tool_output"),
    ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "langsmith.span.kind",
     "mlflow.spanType", "llm.request.type", "ai.operationId", "acme.span.kind", "logfire.span_type", "genkit:type"),
    ("gen_ai.request.model", "llm.model_name", "ai.model.id", "model_name", "gen_ai.response.model"),
    ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider"),
    ("gen_ai.response.finish_reasons", "ai.response.finishReason", "llm.response.finish_reason", "stop_reason"),
    ("gen_ai.response.id", "ai.response.id", "llm.response.id"),
    ("gen_ai.agent.name", "agent.name", "graph.node.id", "langgraph.node", "ai.telemetry.functionId"),
    ("retrieval.documents", "reranker.output_documents", "gen_ai.retrieval.documents", "output.value"),
    ("error.type", "exception.type", "error", "status", "level"),
)  # fmt: skip
#: Keys inside values that mean the same somewhere.
_KEYS = (
    ("arguments", "args", "input", "tool_kwargs", "function_call_arguments_json", "parameters"),
    ("content", "contents", "text", "blocks", "parts", "output_text", "message_content", "page_content", "data"),
    ("id", "call_id", "tool_call_id", "toolCallId", "toolUseId", "tool_use_id", "ref", "tool_id"),
    ("name", "tool_name", "toolName", "function_call_name", "function", "kind"),
    ("role", "type", "kind", "_type", "lc", "author"),
    ("response", "result", "output", "value", "json", "content", "tool_result"),
    ("tool_calls", "tool_call", "function_call", "functionCall", "toolUse", "toolRequest", "function"),
    ("functionResponse", "function_response", "toolResult", "toolResponse", "tool_result"),
    ("messages", "contents", "input", "prompt", "chat_history", "msgs", "inputs"),
    ("task", "query", "question", "user_input", "user_message", "user_msg", "input_text", "text", "prompt"),
    ("choices", "generations", "candidates", "replies", "message", "output", "response", "result", "outputs"),
    ("usage", "usage_metadata", "usageMetadata", "models_usage", "token_usage"),
    ("input_tokens", "prompt_tokens", "promptTokenCount", "inputTokens", "prompt_token_count"),
    ("output_tokens", "completion_tokens", "candidatesTokenCount", "outputTokens", "candidates_token_count"),
    ("total_tokens", "totalTokens", "totalTokenCount", "total_token_count"),
    ("kwargs", "data", "additional_kwargs", "inputs", "raw", "llm_output", "meta", "response_metadata", "lc_kwargs"),
    ("status", "is_error", "isError", "error"),
    ("finish_reason", "stop_reason", "finishReason", "stopReason", "finish_reasons"),
    ("model", "model_version", "modelVersion", "model_name", "modelId"),
    ("system", "instructions", "system_instruction", "systemInstruction", "system_prompt"),
    ("document_id", "doc_id", "id", "document", "metadata", "document.id", "chunk_id", "doc_uri", "source", "url"),
    ("documents", "output", "outputs", "nodes", "document", "node"),
    ("score", "similarity", "document.score", "relevance"),
    ("reasoning", "thinking", "reasoning_content", "summary", "signature"),
    ("thread_id", "session_id", "conversation_id", "threadId", "sessionId", "conversationId"),
    ("answer", "final_answer", "output", "final_output"),
    ("goto", "update", "resume", "graph"),
)  # fmt: skip
#: Words that stand as values.
_WORDS = (
    ("user", "human", "assistant", "ai", "model", "system", "developer", "tool", "function", "tool-response",
     "tool-call", "observation", "human_input"),
    ("text", "input_text", "output_text", "reasoning", "thinking", "tool_call", "tool_use", "function_call",
     "function", "tool-call", "tool_result", "tool_call_response", "function_call_output", "tool-result", "refusal",
     "image", "blob", "data"),
    ("stop", "tool_calls", "tool_use", "end_turn", "length", "max_tokens", "error", "tool-calls", "STOP"),
    ("ok", "error", "success", "failed", "completed", "true", "false"),
    ("chat", "invoke_agent", "execute_tool", "generate_content", "text_completion", "embeddings", "retrieval",
     "create_agent", "invoke_workflow", "plan", "rerank", "guardrail", "evaluate", "search_memory", "update_memory",
     "create_memory_store", "something else", "run_step"),
    ("LLM", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR", "workflow",
     "task", "agent", "tool", "llm", "chain", "generation", "step", "node", "flow", "pending_span", "UNKNOWN",
     "ai.generateText.doGenerate", "ai.toolCall", "ai.streamText"),
)  # fmt: skip
_BY_ATTRIBUTE = {name: names for names in _ATTRIBUTES for name in names}
_BY_KEY = {name: names for names in _KEYS for name in names}
_BY_WORD = {name: names for names in _WORDS for name in names}
_ODD: tuple[Any, ...] = (
    None,
    "",
    [],
    {},
    True,
    False,
    0,
    7,
    -1,
    1.5,
    "x",
    "3",
    "null",
    "[",
    "{}",
    [None],
    " ",
)
_TEXT = ("a", "b", "orla", "search", "7", "look up")
_COUNT = (0, 1, 10, "12", 2.0, 2.5, -1)
_JSON = ('{"a": 1}', "[1]", "{}", '"a"', "a", '{"query": "x", "city": "Oslo"}')
_DOCUMENTS = (
    '[{"id": "d1", "score": 0.5}, {"doc_id": "d2"}]', '[{"document": {"id": "d3", "metadata": {"source": "s"}}}]',
    '{"documents": [{"id": "d4", "page_content": "x"}]}', "[]",
)  # fmt: skip
_MESSAGES = (
    '[{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]', '[{"role": "human", "content": "Hi"}]',
    '[{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}]}]',
    '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"a": 1}}]}]',
    '[{"role": "tool", "tool_call_id": "c1", "content": "done"}]', "Hi", "[]",
    '[{"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, {"type": "text", "content": "Hi"}]}]',
    '{"messages": [{"type": "ai", "content": "Hi"}, {"type": "tool", "content": [{"type": "text", "text": "x"}]}]}',
)  # fmt: skip
#: What spans may say by the conventions, ours and others', and the values it may have.
_SAID: dict[str, Sequence[Any]] = {
    **dict.fromkeys(
        ("gen_ai.agent.name", "gen_ai.agent.id", "gen_ai.agent.version", "gen_ai.agent.description",
         "gen_ai.conversation.id", "gen_ai.response.id", "gen_ai.request.previous_response_id",
         "gen_ai.request.model", "gen_ai.response.model", "gen_ai.tool.name", "gen_ai.tool.call.id", "error.type",
         "session.id", "graph.node.id", "langgraph_step", "service.name", "service.version",
         "deployment.environment.name", "gen_ai.memory.store.id", "gen_ai.data_source.id", "user.id",
         "retrospan.run.id", "retrospan.run.origin", "retrospan.idempotency.key", "retrospan.output.id"),
        _TEXT,
    ),
    **dict.fromkeys(
        ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens",
         "gen_ai.usage.reasoning.output_tokens", "llm.token_count.prompt", "llm.token_count.completion",
         "gen_ai.usage.total_tokens", "gen_ai.request.temperature", "gen_ai.request.seed", "http.response.status_code",
         "retrospan.step.index", "retrospan.attempt", "retrospan.context.limit"),
        _COUNT,
    ),
    **dict.fromkeys(
        ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "input.value", "output.value", "metadata",
         "retrospan.state.before", "retrospan.state.after", "gen_ai.tool.definitions", "gen_ai.system_instructions"),
        _JSON,
    ),
    **dict.fromkeys(
        ("gen_ai.input.messages", "gen_ai.output.messages", "input.value", "output.value", "gen_ai.prompt",
         "gen_ai.completion", "traceloop.entity.input", "traceloop.entity.output", "all_messages_events"),
        _MESSAGES,
    ),
    **dict.fromkeys(("gen_ai.retrieval.documents", "output.value", "retrieval.documents"), _DOCUMENTS),
    **dict.fromkeys(("gen_ai.operation.name",), _WORDS[4]),
    **dict.fromkeys(("openinference.span.kind", "traceloop.span.kind", "mlflow.spanType", "x.span.kind"), _WORDS[5]),
    "gen_ai.response.finish_reasons": (["stop"], ["tool_calls"], '["length"]', "stop"),
    "retrospan.effect": ("write", "read", "none", "destructive"),
    "retrospan.effect.status": ("executed", "planned", "failed", "unknown"),
    "retrospan.run.flagged": (True, "true", "false"),
}  # fmt: skip
_NAMES = (
    "chat m",
    "execute_tool look",
    "invoke_agent ada",
    "step",
    "ChatOpenAI.chat",
    "tool look",
    "",
    "gen_ai.choice",
)


def crossed(own: Sequence[Span], other: Sequence[Span], seed: str) -> list[Span]:
    """Return a run made of the first recording, changed in some places, some of them by what the other holds."""
    chance = Random(seed)
    spans = [replace(span) for span in own[:SPANS]]
    for _ in range(chance.choice((1, 2, 4, 8, 16))):
        at = chance.randrange(len(spans))
        change = chance.choice(_CHANGES)
        spans[at] = change(spans[at], chance.choice(spans), chance.choice(other[:SPANS]), chance)
        if chance.randrange(25) == 0:
            number = f"{chance.randrange(1 << 30):016x}"
            spans.append(replace(spans[at], span_id=number, parent_span_id=spans[at].span_id))
    if chance.randrange(4) == 0:
        chance.shuffle(spans)
    return spans


Change = Callable[[Span, Span, Span, Random], Span]


def _rename(span: Span, near: Span, far: Span, chance: Random) -> Span:
    known = sorted(key for key in span.attributes if key in _BY_ATTRIBUTE) or sorted(span.attributes)
    if not known:
        return span
    picked = chance.choice(known)
    names = _BY_ATTRIBUTE.get(picked) or chance.choice(_ATTRIBUTES)
    new = chance.choice(names)
    if chance.randrange(3) == 0:  # both stay
        return replace(span, attributes={**span.attributes, new: span.attributes[picked]})
    return replace(
        span, attributes={new if key == picked else key: value for key, value in span.attributes.items()}
    )


def _take(span: Span, near: Span, far: Span, chance: Random) -> Span:
    """Take attributes of another span, in place of its own or beside them."""
    giver = chance.choice((near, far, far))
    keys = chance.sample(sorted(giver.attributes), min(len(giver.attributes), chance.choice((1, 2, 30))))
    taken = {key: giver.attributes[key] for key in keys}
    both = {**taken, **span.attributes} if chance.randrange(2) else {**span.attributes, **taken}
    return replace(span, attributes=both)


def _lose(span: Span, near: Span, far: Span, chance: Random) -> Span:
    keys = sorted(span.attributes)
    lost = set(chance.sample(keys, min(len(keys), chance.choice((1, 1, 3)))))
    return replace(span, attributes={key: value for key, value in span.attributes.items() if key not in lost})


def _inside(span: Span, near: Span, far: Span, chance: Random) -> Span:
    """Change one place inside a value: of an attribute, of an event or of a log record."""
    return _everywhere(span, lambda value: _changed(value, chance), chance)


def _everywhere(span: Span, change: Callable[[object], object], chance: Random) -> Span:
    if span.events and chance.randrange(4) == 0:
        at = chance.randrange(len(span.events))
        events = list(span.events)
        events[at] = replace(events[at], attributes=_one(events[at].attributes, change, chance))
        return replace(span, events=events)
    if span.logs and chance.randrange(2) == 0:
        at = chance.randrange(len(span.logs))
        logs = list(span.logs)
        logs[at] = replace(logs[at], body=change(logs[at].body))
        return replace(span, logs=logs)
    return replace(span, attributes=_one(span.attributes, change, chance))


def _one(
    attributes: Mapping[str, object], change: Callable[[object], object], chance: Random
) -> Mapping[str, object]:
    if not attributes:
        return attributes
    # Values with something inside are changed more often.
    deep = [key for key in sorted(attributes) if isinstance(attributes[key], str | list | dict)]
    picked = chance.choice(deep or sorted(attributes))
    return {**attributes, picked: change(attributes[picked])}


def _changed(value: object, chance: Random) -> object:
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            read = json.loads(value)
        except ValueError:
            return value[: chance.randrange(len(value))]
        new = _changed_inside(read, chance)
        form = chance.randrange(10)
        return str(new) if form == 0 else new if form == 1 else json.dumps(new)
    return _changed_inside(value, chance)


def _changed_inside(value: object, chance: Random) -> object:
    """Change one place of a value at some depth."""
    if isinstance(value, dict) and value and chance.randrange(4):
        key = chance.choice(sorted(value))
        fate = chance.randrange(12)
        if fate == 0:
            return {name: item for name, item in value.items() if name != key}
        if fate == 1:
            return {**value, chance.choice(chance.choice(_KEYS)): value[key]}
        if fate == 2:
            return {**value, key: chance.choice(_ODD)}
        if fate in (3, 4):
            new = chance.choice(_BY_KEY.get(key, (key,)))
            return {new if name == key else name: item for name, item in value.items()}
        return {**value, key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.randrange(6):
        at = chance.randrange(len(value))
        fate = chance.randrange(10)
        if fate == 0:
            return value[:at] + value[at + 1 :]
        if fate == 1:
            return [*value, value[at]]
        if fate == 2:
            return value[::-1]
        return [*value[:at], _changed(value[at], chance), *value[at + 1 :]]
    return _turned(value, chance)


def _turned(value: object, chance: Random) -> object:
    """Say the same in another form, or something else."""
    forms: tuple[Callable[[], object], ...] = (
        lambda: chance.choice(_ODD),
        lambda: [value],
        lambda: {"type": "text", "text": value},
        lambda: {"role": "user", "content": value},
        lambda: {chance.choice(chance.choice(_KEYS)): value},
        lambda: json.dumps(value, default=str),
        lambda: str(value),
        lambda: chance.choice(_BY_WORD.get(value, _WORDS[0])) if isinstance(value, str) else value,
        lambda: value[: len(value) // 2] if isinstance(value, str) else value,
        lambda: f"{value} " if isinstance(value, str) else value,
    )
    return chance.choice(forms)()


def _reword(span: Span, near: Span, far: Span, chance: Random) -> Span:
    """Put a word in the place of another of its kind; of a span without such words the name."""
    known = [key for key, value in span.attributes.items() if isinstance(value, str) and value in _BY_WORD]
    if not known:
        return replace(span, name=chance.choice(_NAMES))
    key = chance.choice(sorted(known))
    word = chance.choice(_BY_WORD[str(span.attributes[key])])
    return replace(span, attributes={**span.attributes, key: word})


def _say(span: Span, near: Span, far: Span, chance: Random) -> Span:
    """Add an attribute of the conventions, mostly with a value that it may have."""
    key = chance.choice(sorted(_SAID))
    value = chance.choice(_ODD if chance.randrange(4) == 0 else _SAID[key])
    if chance.randrange(6) == 0:
        return replace(span, resource={**span.resource, key: value})
    return replace(span, attributes={**span.attributes, key: value})


def _time(span: Span, near: Span, far: Span, chance: Random) -> Span:
    fate = chance.randrange(5)
    if fate == 0:
        return replace(span, started_at=near.started_at)
    if fate == 1:
        return replace(span, started_at=near.started_at, ended_at=near.ended_at)
    if fate == 2:
        return replace(span, ended_at=0)
    if fate == 3:
        return replace(span, started_at=near.ended_at, ended_at=max(near.ended_at, span.ended_at))
    return replace(span, ended_at=span.started_at - 5)


def _parent(span: Span, near: Span, far: Span, chance: Random) -> Span:
    parent = chance.choice(("", "f" * 16, near.span_id, near.parent_span_id))
    if parent == span.span_id or near.parent_span_id == span.span_id:
        return span
    return replace(span, parent_span_id=parent, flags=chance.choice((span.flags, 0x100, 0x300)))


def _status(span: Span, near: Span, far: Span, chance: Random) -> Span:
    if chance.randrange(3) == 0:
        said: dict[str, object] = {"exception.type": "ValueError", "exception.message": "no such city"}
        said.pop(chance.choice(("", *sorted(said))), None)
        return replace(
            span, events=[*span.events, Event(name="exception", time_ns=span.ended_at, attributes=said)]
        )
    message = chance.choice(("", "it failed", "429 too many", "timeout", span.status_message))
    return replace(span, status=chance.choice(("ok", "error", "error", "unset")), status_message=message)


def _scope(span: Span, near: Span, far: Span, chance: Random) -> Span:
    return replace(span, scope=far.scope, name=chance.choice((span.name, far.name)))


def _events(span: Span, near: Span, far: Span, chance: Random) -> Span:
    if far.logs and chance.randrange(2):
        logs = [LogRecord(event=log.event, time_ns=span.ended_at, body=log.body, attributes=log.attributes,
                          order=log.order) for log in far.logs]  # fmt: skip
        return replace(span, logs=[*span.logs, *logs])
    return replace(span, events=[*far.events, *span.events] if chance.randrange(2) else span.events[::-1])


def _swap(span: Span, near: Span, far: Span, chance: Random) -> Span:
    keys = sorted(span.attributes)
    if len(keys) < 2:
        return span
    one, two = chance.sample(keys, 2)
    values = span.attributes
    return replace(span, attributes={**values, one: values[two], two: values[one]})


_CHANGES: tuple[Change, ...] = (
    *(_rename,) * 4, *(_take,) * 3, _lose, _lose, *(_inside,) * 8, _reword, _reword, _time, _time, _parent, _status,
    _status, _scope, _events, _swap, _say, _say, _say,
)  # fmt: skip
