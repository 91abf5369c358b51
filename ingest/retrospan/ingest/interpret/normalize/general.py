"""The general rules: each field from wherever its content may lie, first place first.

A span's own attributes come before those of the log record with its details, the OTel GenAI names before
OpenInference's, these before vendors' own. A framework nobody has seen is read by these alone.
"""

from __future__ import annotations

from retrospan.ingest.interpret.normalize.content import read_content
from retrospan.ingest.interpret.normalize.message_cache import PrefixCache
from retrospan.ingest.interpret.normalize.normalized_span import FrameworkNode, NormalizedSpan, Task
from retrospan.ingest.interpret.normalize.operations import operation_of
from retrospan.ingest.interpret.normalize.request import read_request
from retrospan.ingest.interpret.normalize.toolspan import read_tool
from retrospan.ingest.interpret.spans.key import text_of_attribute, whole_number
from retrospan.ingest.interpret.spans.kinds import check_kinds
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Attributes, Span
from retrospan.ingest.interpret.spans.span_fields import GIVEN, RETURNED, SpanFields, whole
from retrospan.ingest.json_text import Unreadable, read_json, read_value
from retrospan.schemas.attributes import (
    CONVENTIONS,
    EFFECT,
    STATE_AFTER,
    STATE_BEFORE,
    STATE_PATCH,
    STEP_INDEX,
    STEP_NAME,
    STEP_TOTAL,
)

_CONVERSATION = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "gcp.vertex.agent.session_id",
    "gen_ai.session.id",
    "mlflow.trace.session",
    "gen_ai.thread.id",
)
_CONVERSATION_NAMES = (
    "thread_id",
    "session_id",
    "conversation_id",
    "threadId",
    "sessionId",
    "conversationId",
)
#: Where frameworks and users put their own keys: an object in JSON, or one attribute per key.
_METADATA = "metadata"
METADATA_PREFIXES = (
    "traceloop.association.properties.",
    "langsmith.metadata.",
    "ai.telemetry.metadata.",
    "lmnr.association.properties.",
    "langfuse.trace.metadata.",
    "langfuse.observation.metadata.",
)

#: Pairs of attributes in which frameworks put what a span was given and what it returned.
_GIVEN_AND_RETURNED = (
    ("input.value", "output.value"),
    ("gen_ai.prompt", "gen_ai.completion"),
    ("traceloop.entity.input", "traceloop.entity.output"),
    ("mlflow.spanInputs", "mlflow.spanOutputs"),
    (GIVEN, RETURNED),
)
#: Attributes that only the work of an agent has.
_STATING = (EFFECT, STATE_BEFORE, STATE_AFTER, STATE_PATCH, STEP_NAME)
_CONTENT_OPERATIONS = ("inference", "agent", "workflow", "retrieval", "embedding", "rerank", "plan")


def read_span(span: Span, problems: ParseIssues, growing: PrefixCache) -> NormalizedSpan:
    """Return what the span says by the general rules; `growing` remembers the histories of the spans before."""
    places = SpanFields(span)
    check_kinds(span, problems)
    metadata = _metadata(span.attributes)
    reading = NormalizedSpan(span=span, operation=operation_of(places, bool(span.parent_span_id)))
    reading.agent_name = places.text(
        "gen_ai.agent.name", "agent.name", "agent_name", "ai.telemetry.functionId"
    )
    if reading.operation == "workflow" and reading.agent_name is None:
        reading.agent_name = places.text("gen_ai.workflow.name") or span.name.removeprefix("invoke_workflow ")
    reading.agent_version = places.text("gen_ai.agent.version")
    reading.conversation = places.text(*_CONVERSATION) or _named(metadata, *_CONVERSATION_NAMES)
    reading.node = _node(metadata)
    reading.task = _task(span.attributes)
    _read_error(span, reading)
    if reading.node is not None and reading.operation in ("agent", "workflow"):
        # Whether it is the node itself or something inside it shows only beside its parent.
        reading.operation = "step"
    if reading.operation == "tool":
        read_tool(places, reading, problems)
    elif reading.operation in _CONTENT_OPERATIONS:
        read_request(places, metadata, reading, problems)
        read_content(span, places, reading, problems, growing)
    if reading.operation in ("agent", "workflow", "step"):
        _read_given_and_returned(places, reading)
    for key, name in ((STATE_BEFORE, "state_before"), (STATE_AFTER, "state_after")):
        if key in span.attributes:
            setattr(reading, name, _object(span, key, problems))
    reading.states = any(key in span.attributes for key in _STATING) or any(
        event.name.startswith(CONVENTIONS) for event in span.events
    )
    return reading


def _metadata(attributes: Attributes) -> dict[str, object]:
    """Return the framework's and user's own keys of a span, by name."""
    inner = read_value(attributes.get(_METADATA))
    found = dict(inner) if isinstance(inner, dict) else {}
    own = [(key, value) for key, value in attributes.items() if key.startswith(METADATA_PREFIXES)]
    for prefix in METADATA_PREFIXES if own else ():
        for key, value in own:
            if key.startswith(prefix):
                found.setdefault(key[len(prefix) :], value)
    return found


def _named(metadata: dict[str, object], *names: str) -> str | None:
    return next((value for name in names if isinstance(value := metadata.get(name), str) and value), None)


def _node(metadata: dict[str, object]) -> FrameworkNode | None:
    """Return the LangGraph node a span runs in: its metadata has one form through every instrumentation."""
    name = _named(metadata, "langgraph_node")
    if name is None:
        return None
    return FrameworkNode(
        name, _named(metadata, "langgraph_checkpoint_ns"), whole(metadata.get("langgraph_step"))
    )


def _task(attributes: Attributes) -> Task | None:
    task = Task(
        whole_number(attributes.get(STEP_INDEX)),
        text_of_attribute(attributes.get(STEP_NAME)),
        whole_number(attributes.get(STEP_TOTAL)),
    )
    return None if task == Task(None, None, None) else task


def _object(span: Span, key: str, problems: ParseIssues) -> dict[str, object] | None:
    """Return the JSON object in an attribute; anything else is a problem."""
    raw = span.attributes[key]
    value = read_json(raw) if isinstance(raw, str) else raw
    if isinstance(value, dict):
        return value
    problems.add(
        span.span_id, key, raw, value.reason if isinstance(value, Unreadable) else "not a JSON object"
    )
    return None


def _read_given_and_returned(places: SpanFields, reading: NormalizedSpan) -> None:
    for given, returned in _GIVEN_AND_RETURNED:
        before, after = places.value(given), places.value(returned)
        if before is not None or after is not None:
            reading.framework_input = _inside(before, "inputs")
            reading.framework_output = _inside(after, "outputs")
            return


def _inside(value: object, key: str) -> object:
    return value[key] if isinstance(value, dict) and key in value else value


def _read_error(span: Span, reading: NormalizedSpan) -> None:
    exceptions = [event.attributes for event in span.events if event.name == "exception"]
    last = exceptions[-1] if exceptions else {}
    kind, message = last.get("exception.type"), last.get("exception.message")
    said = span.attributes.get("error.type")
    reading.interrupted = any(map(_is_interrupt, (kind, message, said, span.status_message)))
    level = span.attributes.get("langfuse.observation.level")
    failed = span.status == "error" or level == "ERROR" or (isinstance(said, str) and said not in ("", "_OK"))
    reading.failed = failed and not reading.interrupted
    if reading.failed:
        reading.error_type = (
            said if isinstance(said, str) and said else kind if isinstance(kind, str) else None
        )
        reading.error_message = (
            message if isinstance(message, str) and message else span.status_message or None
        )


def _is_interrupt(text: object) -> bool:
    """Tell whether an exception only waits for someone: LangGraph raises it to end a node early."""
    if not isinstance(text, str):
        return False
    name = text.split("(", 1)[0].strip()
    return name.endswith(("GraphInterrupt", "NodeInterrupt"))
