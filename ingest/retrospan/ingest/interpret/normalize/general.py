"""The general rules: each field is read from any place where its content may be, in a fixed order.

A span's own attributes come before those of the log record with its details, the OTel GenAI names before
OpenInference's, these before vendors' own. An unknown framework is read by these alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from retrospan.ingest.interpret.messages.message_cache import PrefixCache
from retrospan.ingest.interpret.messages.messages import NOTHING
from retrospan.ingest.interpret.normalize.content import read_content
from retrospan.ingest.interpret.normalize.copied_responses import complete_from_copy
from retrospan.ingest.interpret.normalize.documents import read_query
from retrospan.ingest.interpret.normalize.fates import (
    tells_failed_answer,
    tells_failure,
    tells_giving_up,
    tells_refusal,
)
from retrospan.ingest.interpret.normalize.normalized_span import FrameworkNode, NormalizedSpan, Task
from retrospan.ingest.interpret.normalize.operations import operation_of
from retrospan.ingest.interpret.normalize.request import knows_no_model, read_request
from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.interpret.normalize.toolspan import (
    is_call,
    name_beside_method,
    only_value,
    read_tool,
    unquoted,
)
from retrospan.ingest.interpret.spans.facts import (
    EVALUATION_RESULT,
    EXCEPTIONS,
    TAKEN_OUT,
    last_exception,
    names_any,
    raised_in_instrumentation,
)
from retrospan.ingest.interpret.spans.key import text_of_attribute, whole_number
from retrospan.ingest.interpret.spans.kinds import check_kinds
from retrospan.ingest.interpret.spans.name_words import AGENT, ASKED, ERROR
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.small_shapes import TYPED, entity_named
from retrospan.ingest.interpret.spans.span import Attributes, Span
from retrospan.ingest.interpret.spans.span_fields import SpanFields, whole
from retrospan.ingest.interpret.spans.vocabulary import INPUT, OUTPUT, Vocabulary
from retrospan.ingest.json_text import Unreadable, read_json
from retrospan.schemas import semconv
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

_CONVERSATION_NAMES = (
    "thread_id",
    "session_id",
    "conversation_id",
    "threadId",
    "sessionId",
    "conversationId",
)
_USER_NAMES = ("user_id", "userId")
_AGENT_NAMES = ("lc_agent_name", "agent_name", "agentName")
#: Attributes that only the work of an agent has.
_STATING = (EFFECT, STATE_BEFORE, STATE_AFTER, STATE_PATCH, STEP_NAME)
#: What a function returned that returned nothing.
_NOTHING: tuple[object, ...] = (None, "", {"output": None}, {})
#: How a span says that it was given nothing, or returned nothing.
_NO_CONTENT = ("null", "None", "[]", "{}")
#: How an attribute is called that names a workflow.
_WORKFLOW_NAME = re.compile(r"(?:^|[._:])workflow[._]name$")
#: The last word of a span that only makes what will run.
_MADE = re.compile(r"[._ ](?:build|compile|create|construct)\Z")
#: What a span is about: where that is an agent, its name.
_ENTITY_NAME = re.compile(r"[._]entity[._]name$")
#: Ids, and no names that anybody gave.
_HEX = re.compile(r"[0-9a-f-]{8,}", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_CONTENT_OPERATIONS = ("inference", "agent", "workflow", "retrieval", "embedding", "rerank", "plan")

#: What tells the step of a task.
_OF_TASK = (STEP_INDEX, STEP_NAME, STEP_TOTAL)

#: How values of JSON begin.
_JSON_BEGINS = frozenset('"[{-0123456789')
_JSON_WORDS = ("true", "false", "null")


def read_span(
    sent: Span,
    problems: ParseIssues,
    growing: PrefixCache,
    names: Vocabulary,
    operation: str | None = None,
) -> NormalizedSpan:
    """Read a span by the general rules; `growing` remembers the histories of earlier spans.

    `names` are those that are known; `operation` is what other spans show it to be, where its own attributes do not.
    """
    places = SpanFields(sent, names, growing.texts)
    if operation is None:
        check_kinds(sent, places, problems)
        for unread in sent.unread:
            problems.add(sent.span_id, unread.field, unread.raw, unread.reason)
    metadata = _metadata(sent.attributes, places)
    operation = operation or operation_of(places, bool(sent.parent_span_id))
    span = NormalizedSpan(sent=sent, operation=operation, names=names)
    _name_agent(sent, places, metadata, span)
    span.agent_version = places.text(semconv.AGENT_VERSION)
    span.conversation = places.text(*names.conversations) or _named(metadata, *_CONVERSATION_NAMES)
    span.user = places.text(*names.users) or _named(metadata, *_USER_NAMES)
    span.node = _node(metadata)
    span.task = _task(sent.attributes)
    _read_error(sent, places, span)
    if span.node is not None and span.operation in ("agent", "workflow"):
        # Whether it is the node itself or something inside it shows only beside its parent.
        span.operation = "step"
    if span.operation == "tool":
        read_tool(places, span, problems)
    elif span.operation in _CONTENT_OPERATIONS:
        read_request(places, metadata, span, problems)
        read_content(sent, places, span, problems, growing)
        span.failed = span.failed or (not span.interrupted and tells_failed_answer(places))
        if span.operation == "inference" and _was_given_nothing(places, span):
            span.operation = "other"  # what made the model, or set it up
        elif span.operation == "inference" and _passes_between_agents(sent, places, span):
            # The requests between are told for themselves, and these tokens are estimated.
            span.operation, span.input, span.output, span.tokens = "other", [], [], TokenUsage()
        elif span.operation == "inference":
            complete_from_copy(chain(sent.attributes.values(), metadata.values()), span)
    if span.operation in ("retrieval", "memory"):
        span.query, span.data_source = read_query(places), places.text(*names.data_sources)
    if span.operation in ("agent", "workflow", "step"):
        _read_input_and_output(places, span)
    if (
        span.operation in ("workflow", "step")
        and _MADE.search(sent.name)
        and not (span.failed or _is_told(span))
    ):
        span.operation = "other"  # a graph is put together, and nothing runs
    if sent.events and not (span.failed or span.interrupted) and _raised_instead(span):
        _fail(span, last_exception(sent))
        span.output = [] if span.operation == "inference" else span.output
    for key, name in ((STATE_BEFORE, "state_before"), (STATE_AFTER, "state_after")):
        if key in sent.attributes:
            setattr(span, name, _object(sent, key, problems))
    span.states = (
        sent.is_placeholder
        or not sent.attributes.keys().isdisjoint(_STATING)
        or semconv.EVALUATION_NAME in sent.attributes
        or bool(sent.loose)
        or bool((sent.events or sent.logs) and _tells_by_events(sent))
    )
    return span


def _name_agent(sent: Span, places: SpanFields, metadata: dict[str, object], span: NormalizedSpan) -> None:
    """Give a span the name of the agent that it is of, or is, where its own attributes tell it."""
    names = span.names
    span.agent_name = places.text(*names.agents) or _named(metadata, *_AGENT_NAMES) or _named_agent(places)
    if span.agent_name is None and span.operation != "other" and TYPED in places.listed:
        span.agent_name = entity_named(sent.attributes, "agent")
    if span.operation == "agent" and span.agent_name is None:
        node = places.text(*names.agent_nodes)
        span.agent_name = node if node and not _HEX.fullmatch(node) else name_beside_method(sent)
        span.agent_name = span.agent_name or _first_text(value for _, value in places.matching(_ENTITY_NAME))
    if span.operation == "workflow" and span.agent_name is None:
        called = sent.name.removeprefix(f"{places.text(semconv.OPERATION_NAME) or 'invoke_workflow'} ")
        named = None if _UUID.search(sent.name) else called
        told = _first_text(value for _, value in places.matching(_WORKFLOW_NAME))
        span.agent_name = places.text(semconv.WORKFLOW_NAME) or told or named


def _passes_between_agents(sent: Span, places: SpanFields, span: NormalizedSpan) -> bool:
    """Tell whether what is called a request is what agents said to each other: called after the agent, it says that it knows
    neither model, and tells no list of messages, no id and no end of an answer."""
    if not (span.agent_name and sent.name.endswith(f" {span.agent_name}") and knows_no_model(places)):
        return False
    names = places.names
    return not places.has_any((*names.finish_reasons, *names.response_ids)) and not any(
        isinstance(places.read(places.any(key)), list)
        for key in (semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES)
    )


def _was_given_nothing(places: SpanFields, span: NormalizedSpan) -> bool:
    """Tell whether a span that only names a model says that it was given nothing and returned nothing."""
    return (
        not (span.input or span.output or span.failed or span.response_model or span.response_id)
        and span.tokens.input is None
        and not places.has_any(name for name, _ in places.names.operations)
        and any(said in _NO_CONTENT for said in places.said(INPUT))
        and any(said in _NO_CONTENT for said in places.said(OUTPUT))
    )


def _tells_by_events(sent: Span) -> bool:
    """Tell whether an event of a span is one of our conventions, or an evaluation."""
    return any(event.name.startswith(CONVENTIONS) for event in sent.events) or names_any(
        sent, (EVALUATION_RESULT,)
    )


def _metadata(attributes: Attributes, places: SpanFields) -> dict[str, object]:
    """Return the framework's and user's own keys of a span, by name."""
    said = attributes.get(places.names.metadata)
    inner = places.read(said) if said is not None else None
    found = dict(inner) if isinstance(inner, dict) else {}
    for rest, key in places.own_under(places.names.metadata_prefixes):
        found.setdefault(rest, attributes[key])
    return found


def _named(metadata: dict[str, object], *names: str) -> str | None:
    if not metadata:
        return None
    for name in names:
        value = metadata.get(name)
        if isinstance(value, str) and (text := _plain(value)):
            return text
    return None


def _first_text(values: Iterable[object]) -> str | None:
    """Return the first text that says something, without the quotes of JSON."""
    return next((text for value in values if isinstance(value, str) and (text := _plain(value))), None)


def _named_agent(places: SpanFields) -> str | None:
    """Return the agent that an attribute names, also in an object that describes it."""
    for name, value in places.named(AGENT) if places.has_words("agent") else ():
        described = places.read(value)
        said = described.get("name") if isinstance(described, dict) else value
        if isinstance(said, str) and _plain(said) and (said is not value or not name.endswith("agent")):
            return _plain(said)
    return None


def _plain(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _node(metadata: dict[str, object]) -> FrameworkNode | None:
    """Return the LangGraph node a span runs in: its metadata has one form through every instrumentation."""
    name = _named(metadata, "langgraph_node")
    if name is None:
        return None
    return FrameworkNode(
        name, _named(metadata, "langgraph_checkpoint_ns"), whole(metadata.get("langgraph_step"))
    )


def _task(attributes: Attributes) -> Task | None:
    if attributes.keys().isdisjoint(_OF_TASK):
        return None
    task = Task(
        whole_number(attributes.get(STEP_INDEX)),
        text_of_attribute(attributes.get(STEP_NAME)),
        whole_number(attributes.get(STEP_TOTAL)),
    )
    return None if task == Task(None, None, None) else task


def _object(sent: Span, key: str, problems: ParseIssues) -> dict[str, object] | None:
    """Return the JSON object in an attribute; anything else is a problem."""
    raw = sent.attributes[key]
    value = read_json(raw) if isinstance(raw, str) else raw
    if isinstance(value, dict):
        return value
    problems.add(
        sent.span_id, key, raw, value.reason if isinstance(value, Unreadable) else "not a JSON object"
    )
    return None


def _read_input_and_output(places: SpanFields, span: NormalizedSpan) -> None:
    for given, returned in places.names.given_and_returned:
        if "*" not in (given[:1], returned[:1]) and not (places.has(given) or places.has(returned)):
            continue
        before, after = (_unquoted(places.value(key), places) for key in (given, returned))
        if is_call(before):
            after = unquoted(after)
        if before is not None or after is not None:
            span.framework_input = only_value(_inside(before, "inputs"))
            span.framework_output = only_value(_inside(after, "outputs"))
            break
    span.framework_input = places.text(*places.names.asked) or span.framework_input
    if span.framework_input is None and span.operation == "agent":
        span.asked = _first_text(value for value in places.said(ASKED) if value not in TAKEN_OUT)
        if not span.input:
            span.framework_input = span.asked


def _unquoted(value: object, places: SpanFields) -> object:
    """Return a text without the quotes of JSON, where everything that its span says is JSON."""
    if value == "null":
        return None
    if unquoted(value) is value:
        return value
    texts = (text for text in places.all[0].values() if isinstance(text, str))
    is_json = all(text[:1] in _JSON_BEGINS or text in _JSON_WORDS for text in texts)
    return unquoted(value) if is_json else value


def _inside(value: object, key: str) -> object:
    return value[key] if isinstance(value, dict) and key in value else value


def _is_told(span: NormalizedSpan) -> bool:
    """Tell whether anything is said of what a span was given or returned."""
    return bool(span.input or span.output) or not (span.framework_input is None is span.framework_output)


def _read_error(sent: Span, places: SpanFields, span: NormalizedSpan) -> None:
    last = last_exception(sent) if sent.events or sent.logs else {}
    kind, message = last.get(semconv.EXCEPTION_TYPE), last.get(semconv.EXCEPTION_MESSAGE)
    said = sent.attributes.get(semconv.ERROR_TYPE)
    hands_over = False
    if kind or message or said or sent.status_message:
        span.interrupted = any(map(_is_interrupt, (kind, message, said, sent.status_message)))
        hands_over = any(isinstance(name, str) and name.endswith("ParentCommand") for name in (kind, said))
    failed = not hands_over and (
        (sent.status == "error" and not raised_in_instrumentation(last))
        or (isinstance(said, str) and said not in ("", "_OK") and not raised_in_instrumentation(last))
        or _has_error_level(sent.attributes, places.names)
        or (sent.status == "unset" and places.has_words("fate") and tells_failure(places, span.operation))
    )
    span.failed = failed and not span.interrupted
    if span.operation in ("tool", "other") and not span.failed and places.has_words("fate"):
        span.refused = tells_refusal(places)
        span.given_up = tells_giving_up(places)
    if span.failed:
        _fail(span, last)
        span.error_type = said if isinstance(said, str) and said else span.error_type
        span.error_message = span.error_message or sent.status_message or _first_text(places.said(ERROR))


def _fail(span: NormalizedSpan, exception: Attributes) -> None:
    """Note that a span failed, and with which exception, in place."""
    kind, message = exception.get(semconv.EXCEPTION_TYPE), exception.get(semconv.EXCEPTION_MESSAGE)
    span.failed = True
    span.error_type = kind if isinstance(kind, str) else None
    span.error_message = message if isinstance(message, str) and message else None


def _prints_nothing(span: NormalizedSpan) -> bool:
    """Tell whether an answer of no tokens is only what a language prints for nothing."""
    texts = [part.get("content") for message in span.output for part in message["parts"]]
    return len(texts) == 1 and texts[0] in NOTHING and not span.tokens.output


def _raised_instead(span: NormalizedSpan) -> bool:
    """Tell whether a span ended with an exception and nothing else, whatever its status says: what it was given is there,
    and nothing that it returned."""
    if not any(event.name in EXCEPTIONS for event in span.sent.events):
        return False
    if span.operation == "inference":
        return bool(span.input) and (not span.output or _prints_nothing(span))
    if span.operation == "tool":
        # Where contents are not told at all, that the exception is the last thing said of an execution tells as much.
        is_last = span.has_arguments or span.sent.events[-1].name in EXCEPTIONS
        return is_last and (not span.has_result or span.result in _NOTHING)
    returned = span.framework_output
    return (
        span.operation in ("agent", "workflow")
        and span.framework_input is not None
        and not span.output
        and returned in _NOTHING
    )


def _has_error_level(attributes: Attributes, names: Vocabulary) -> bool:
    for key, level in names.error_levels:  # noqa: SIM110 (asked of every span, and a generator costs more)
        if key in attributes and attributes[key] == level:
            return True
    return False


def _is_interrupt(text: object) -> bool:
    """Tell whether an exception only waits for someone: LangGraph raises it to end a node early."""
    if not isinstance(text, str):
        return False
    name = text.split("(", 1)[0].strip()
    return name.endswith(("GraphInterrupt", "NodeInterrupt"))
