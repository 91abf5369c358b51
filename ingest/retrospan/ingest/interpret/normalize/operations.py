"""Which operation a span is, from whichever vocabulary names it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.interpret.spans.vocabulary import GENAI_OPERATIONS

#: What families that nobody here has seen call the kinds of their spans, in attributes such as `x.span.kind`.
KINDS: Mapping[str, str] = {
    "llm": "inference",
    "chat_model": "inference",
    "agent": "agent",
    "tool": "tool",
    "chain": "chain",
    "workflow": "chain",
    "task": "step",
    "retriever": "retrieval",
    "embedding": "embedding",
    "reranker": "rerank",
    "memory": "memory",
    "guardrail": "guardrail",
    "evaluator": "evaluation",
    **dict.fromkeys(
        (
            *("generation", "model", "model_generation", "model_step", "llm_request", "llm_call"),
            *("chat", "completion", "chat_completion", "model_call", "inference", "language_model"),
        ),
        "inference",
    ),
    **dict.fromkeys(
        ("tool_call", "mcp_tool_call", "function_call", "tool_execution", "tool_use", "function"), "tool"
    ),
    **dict.fromkeys(("agent_run", "agent_call", "agent_execution", "interaction"), "agent"),
    **dict.fromkeys(("workflow_run", "flow", "pipeline", "graph", "crew", "entry"), "chain"),
    **dict.fromkeys(("workflow_step", "step", "node", "component"), "step"),
    "retrieval": "retrieval",
}
_KIND_KEY = re.compile(
    r"(?:^|[._:])(?:(?:span|observation|run|entity|event|node|operation|action)[._:]?(?:kind|type)|subtype)$"
)

#: Words of kinds that are told in several: who acts, and that it does.
_BETWEEN = re.compile(r"[._:/-]")
_LONGEST_KIND = 40
_MODELS, _TOOLS, _AGENTS = {"inference", "llm", "generation"}, {"tool", "function"}, {"agent", "agentic"}
#: Several agents that work together, of which none is called.
_GROUPS = {"swarm", "team", "crew", "graph", "workflow", "pipeline"}
_DOING = {"turn", "invocation", "invoke", "call", "run", "execution", "execute"}


def operation_of(places: SpanFields, has_parent: bool) -> str:
    """Return the operation of a span: as the attributes name it, else by what they hold."""
    return named_operation(places, has_parent) or ("inference" if places.holds_exchange() else "other")


def named_operation(places: SpanFields, has_parent: bool) -> str | None:
    """Return the operation that the attributes name, by name first, else by what only one kind of span carries.

    A chain is a workflow where nothing is above it, else a step of one.
    """
    known = places.names
    if not places.has_any(known.telling):
        named = _by_kind(places)
        return kind_in_tree(named, has_parent) if named else None
    for key, word in known.announcements:
        if places.text(key) == word:
            return "other"  # it comes whole when it ends
    for key, names in known.operations:
        value = places.text(key)
        if value:
            operation = names.get(value) or names.get(value.upper())
            if operation is None and names is GENAI_OPERATIONS:
                operation = _by_words(value)
            if operation:
                return kind_in_tree(operation, has_parent)
    function = places.text(*known.functions)
    if function:
        return _by_function(function)
    named = _by_kind(places)
    if named:
        return kind_in_tree(named, has_parent)
    return next((operation for key, operation in known.markers if places.has(key)), None)


def kind_in_tree(operation: str, has_parent: bool) -> str:
    """Return what a chain is, by whether something is above it; other operations are what they are."""
    return operation if operation != "chain" else "step" if has_parent else "workflow"


def _by_kind(places: SpanFields) -> str | None:
    """Return the operation that an attribute such as `x.span.kind` or `x.observation.type` names: where several do, that of
    the span itself."""
    found: str | None = None
    for key, value in places.matching(_KIND_KEY):
        if isinstance(value, str):
            operation = KINDS.get(value.lower()) or _kind_of_words(value)
            if operation and "span" in key:
                return operation
            found = found or operation
    return found


def _kind_of_words(name: str) -> str | None:
    """Return the operation of a kind in several words, such as `agentic.tool.invocation` or `inference.framework`."""
    words = (
        set(_BETWEEN.split(name.lower())) if _BETWEEN.search(name) and len(name) <= _LONGEST_KIND else set()
    )
    if words & _MODELS and not words & _TOOLS:
        return "inference"
    if not words & _DOING:
        return None
    return "tool" if words & _TOOLS else "agent" if words & _AGENTS else None


def _by_words(name: str) -> str | None:
    """Return the operation of a name of one's own, such as `chat.completions`, `text_embedding` or `invoke_swarm`, by the words in
    it."""
    words = set(re.split(r"[^a-z]+", name.lower()))
    if words & {"embedding", "embeddings"}:
        return "embedding"
    if words & _DOING and words & _GROUPS:
        return "chain"
    return "inference" if words & {"chat", "completion", "completions"} else None


def _by_function(operation: str) -> str:
    """Return the operation of a function of an SDK: `ai.generateText`, `ai.generateText.doGenerate`, `ai.toolCall` …"""
    last = operation.rsplit(".", 1)[-1]
    if last in ("doGenerate", "doStream"):
        return "inference"
    if last == "toolCall":
        return "tool"
    if "embed" in operation.lower():
        return "embedding"
    return "rerank" if last == "rerank" else "agent"
