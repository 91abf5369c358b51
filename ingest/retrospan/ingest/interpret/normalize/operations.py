"""Which operation a span is, from whichever vocabulary names it."""

from __future__ import annotations

import re

from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.schemas import semconv
from retrospan.schemas.attributes import STEP_INDEX

_GENAI = {
    "chat": "inference",
    "generate_content": "inference",
    "text_completion": "inference",
    "completion": "inference",
    "generate": "inference",
    "llm_call": "inference",
    "llm_request": "inference",
    "embeddings": "embedding",
    "execute_tool": "tool",
    "tool_call": "tool",
    "invoke_agent": "agent",
    "create_agent": "other",  # makes one and runs nothing
    "agent_call": "agent",
    "invoke_workflow": "workflow",
    "agent_step": "step",
    "run_step": "step",
    "execute_event_loop_cycle": "step",
    "execute_task": "step",
    "retrieval": "retrieval",
    "vector_db_retrieve": "retrieval",
    "rerank": "rerank",
    "plan": "plan",
    "guardrail": "guardrail",
    "evaluate": "evaluation",
    "create_memory": "memory",
    "update_memory": "memory",
    "upsert_memory": "memory",
    "delete_memory": "memory",
    "search_memory": "memory",
    "create_memory_store": "memory",
    "delete_memory_store": "memory",
}

_OPENINFERENCE = {
    "LLM": "inference",
    "TOOL": "tool",
    "AGENT": "agent",
    "CHAIN": "workflow",
    "RETRIEVER": "retrieval",
    "EMBEDDING": "embedding",
    "RERANKER": "rerank",
    "GUARDRAIL": "guardrail",
    "EVALUATOR": "evaluation",
}

_TRACELOOP = {"workflow": "workflow", "task": "step", "agent": "agent", "tool": "tool"}

_LANGSMITH = {
    "llm": "inference",
    "chain": "workflow",
    "tool": "tool",
    "retriever": "retrieval",
    "embedding": "embedding",
}

_MLFLOW = {
    "LLM": "inference",
    "CHAT_MODEL": "inference",
    "AGENT": "agent",
    "TOOL": "tool",
    "CHAIN": "workflow",
    "WORKFLOW": "workflow",
    "TASK": "step",
    "RETRIEVER": "retrieval",
    "EMBEDDING": "embedding",
    "RERANKER": "rerank",
    "MEMORY": "memory",
    "GUARDRAIL": "guardrail",
    "EVALUATOR": "evaluation",
}

_REQUEST_TYPES = {
    "chat": "inference",
    "completion": "inference",
    "embedding": "embedding",
    "rerank": "rerank",
}

#: What families that nobody here has seen call the kinds of their spans, in attributes such as `x.span.kind`.
_KINDS = {
    **{name.lower(): operation for name, operation in {**_MLFLOW, **_OPENINFERENCE, **_LANGSMITH}.items()},
    **dict.fromkeys(
        ("generation", "model", "model_generation", "model_step", "llm_request", "llm_call"), "inference"
    ),
    **dict.fromkeys(("tool_call", "mcp_tool_call", "function_call"), "tool"),
    **dict.fromkeys(("agent_run", "agent_call", "interaction"), "agent"),
    **dict.fromkeys(("workflow_run", "flow", "pipeline", "graph", "crew"), "workflow"),
    **dict.fromkeys(("workflow_step", "step", "node", "component"), "step"),
    "retrieval": "retrieval",
}
_KIND_KEY = re.compile(
    r"(?:^|[._:])(?:(?:span|observation|run|entity|node|operation|action)[._:]?(?:kind|type)|subtype)$"
)

#: Where operations are named, most telling first: LangSmith calls a retriever's operation embeddings.
_NAMED = (
    ("langsmith.span.kind", _LANGSMITH),
    (semconv.OPERATION_NAME, _GENAI),
    (semconv.OPENINFERENCE_SPAN_KIND, _OPENINFERENCE),
    (semconv.TRACELOOP_SPAN_KIND, _TRACELOOP),
    ("mlflow.spanType", _MLFLOW),
    ("llm.request.type", _REQUEST_TYPES),
)

_MARKERS = (
    (STEP_INDEX, "step"),
    (semconv.TOOL_NAME, "tool"),
    (semconv.TOOL_CALL_ID, "tool"),
    ("tool.name", "tool"),
    ("spring.ai.tool.definition.name", "tool"),
    ("haystack.tool.name", "tool"),
    (semconv.REQUEST_MODEL, "inference"),
    (semconv.LLM_MODEL_NAME, "inference"),
)


def operation_of(places: SpanFields, has_parent: bool) -> str:
    """Return the operation of a span: as the attributes name it, else by what they hold."""
    return named_operation(places, has_parent) or ("inference" if places.holds_exchange() else "other")


def named_operation(places: SpanFields, has_parent: bool) -> str | None:
    """Return the operation that the attributes name, by name first, else by what only one kind of span carries.

    A chain is a workflow where nothing is above it, else a step of one.
    """
    if places.text("logfire.span_type") == "pending_span":
        return "other"  # announces a span that comes whole when it ends
    for key, names in _NAMED:
        value = places.text(key)
        operation = (names.get(value) or names.get(value.upper())) if value else None
        if operation is None and value and names is _GENAI:
            operation = _by_words(value)
        if operation:
            is_chain = operation == "workflow" and names not in (_GENAI, _TRACELOOP)
            return "step" if is_chain and has_parent else operation
    vercel = places.text("ai.operationId")
    if vercel:
        return _vercel(vercel)
    named = _by_kind(places)
    if named:
        return "step" if named == "workflow" and has_parent else named
    return next((operation for key, operation in _MARKERS if places.has(key)), None)


def _by_kind(places: SpanFields) -> str | None:
    """Return the operation that an attribute such as `x.span.kind` or `x.observation.type` names."""
    for place in places.all:
        for key, value in place.items():
            if key.endswith(("kind", "type")) and isinstance(value, str) and _KIND_KEY.search(key):
                operation = _KINDS.get(value.lower())
                if operation:
                    return operation
    return None


def _by_words(name: str) -> str | None:
    """Return the operation of a name of one's own, such as `chat.completions` or `text_embedding`, by the words in it."""
    words = set(re.split(r"[^a-z]+", name.lower()))
    if words & {"embedding", "embeddings"}:
        return "embedding"
    return "inference" if words & {"chat", "completion", "completions"} else None


def _vercel(operation: str) -> str:
    """Return the operation of a Vercel AI SDK span: `ai.generateText`, `ai.generateText.doGenerate`, `ai.toolCall` …"""
    last = operation.rsplit(".", 1)[-1]
    if last in ("doGenerate", "doStream"):
        return "inference"
    if last == "toolCall":
        return "tool"
    if "embed" in operation.lower():
        return "embedding"
    return "rerank" if last == "rerank" else "agent"
