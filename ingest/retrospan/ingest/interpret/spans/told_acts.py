"""The spans of an agent that sends none: made of the log records in which it tells what it did with a prompt.

A record is written when its act is over, and says how long that took. Each request to a model and each execution of a tool
becomes a span below one of the agent, in the words of the GenAI conventions, with whatever else its record says; from there
on it is read as any. What no record tells stays unknown: what a model was given, and each text that was not to be sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from retrospan.ingest.interpret.spans.sent_as_logs import OwnRecord
from retrospan.ingest.interpret.spans.span import CLIENT, Attributes, Span
from retrospan.ingest.interpret.spans.told_words import (
    duration_ns,
    error_type_in,
    has_failed,
    is_refused,
    number_in,
    text_in,
    tokens_in,
)
from retrospan.ingest.json_text import write_json
from retrospan.schemas import prompt_records as words
from retrospan.schemas import semconv
from retrospan.schemas.hashing import hash_of

_INTERNAL = 1
_OF_REQUESTS = frozenset((words.REQUEST, words.PIECE, *words.ENDS))


@dataclass(slots=True)
class _Request:
    """A request to a model, told to be over: when, by which record, and what it is known to have answered."""

    record: OwnRecord
    started_at: int
    is_answered: bool = False  # whether its answer was told, be it without the text
    text: str | None = None
    calls: dict[str, OwnRecord] = field(default_factory=dict)  # by id, what told of each last

    @property
    def ended_at(self) -> int:
        return self.record.log.time_ns


@dataclass(slots=True)
class _Acts:
    """What the records of one trace tell, in their order."""

    prompts: list[OwnRecord] = field(default_factory=list)
    requests: list[_Request] = field(default_factory=list)
    executions: dict[str, OwnRecord] = field(
        default_factory=dict
    )  # by id of the call; those refused among them
    pending: bool = False  # whether a request began of which no end was told


def spans_of_acts(trace_id: str, records: Sequence[OwnRecord]) -> list[Span]:
    """Return the spans of one trace that log records alone tell, the agent's first; none where they tell no act, or not of
    which prompt.

    The agent's is open until something shows that the prompt was dealt with: the last act told is a request that failed, or
    an answer that asks for no tool.
    """
    acts = _read(sorted(records, key=_order))
    if not acts.prompts or not (acts.requests or acts.executions) or _has_spans(acts):
        return []
    first = min(records, key=_order)
    root = _agent(trace_id, first, acts)
    spans = [root, *_agents_below(root, acts)]
    parents = {_text(span, words.AGENT_IDS): span.span_id for span in spans}
    spans += [_model_span(root, parents, request) for request in acts.requests]
    spans += [_tool_span(root, parents, call_id, record) for call_id, record in acts.executions.items()]
    root.started_at = min(span.started_at for span in spans)
    for span in spans[1:]:
        span.ended_at = max(span.ended_at, span.started_at)
    if _is_over(acts):
        root.ended_at = max(span.ended_at for span in spans[1:])
    else:
        root.is_open = True
    return spans


def _has_spans(acts: _Acts) -> bool:
    """Tell whether the agent tells by spans of its own what these records tell."""
    return any(name.startswith(words.WITH_SPANS) for prompt in acts.prompts for name in _names(prompt))


def _read(ordered: Sequence[OwnRecord]) -> _Acts:
    """Return the acts of records that are in order. An answer's calls may be told before the answer: requests come first."""
    acts = _Acts()
    told = [(act, record) for record in ordered if (act := _act(record))]
    _read_requests(acts, told)
    for act, record in told:
        said = record.log.attributes
        if act == words.PROMPT:
            acts.prompts.append(record)
        elif act == words.ANSWER and (request := _answering(acts, record)):
            request.is_answered = True
            request.text = text_in(said, words.ANSWERS)
        elif act == words.DECISION or act in words.EXECUTIONS:
            call_id = text_in(said, words.CALL_IDS) or _identity(record)
            if request := _answering(acts, record):
                request.calls[call_id] = record
            if act != words.DECISION or is_refused(said):
                acts.executions[call_id] = record
    return acts


def _read_requests(acts: _Acts, told: Sequence[tuple[str, OwnRecord]]) -> None:
    begun: OwnRecord | None = None
    for act, record in told:
        said = record.log.attributes
        if act not in _OF_REQUESTS:
            continue
        if act in words.ENDS or tokens_in(said) or has_failed(said):
            started_at = record.log.time_ns - duration_ns(said)
            if begun is not None and act == words.PIECE:
                started_at = begun.log.time_ns - duration_ns(begun.log.attributes)
            acts.requests.append(_Request(record, started_at))
            begun = None
        elif act == words.REQUEST:
            begun = record
    acts.pending = begun is not None


def _answering(acts: _Acts, record: OwnRecord) -> _Request | None:
    """Return the request whose answer a record is about: the one with its id; without an id the last of its agent that had
    begun by then, for a tool may be executed before the answer that asked for it has ended."""
    request_id = _text(record, words.REQUEST_IDS)
    began_at = record.log.time_ns - duration_ns(record.log.attributes)
    for request in reversed(acts.requests):
        if request_id:
            if _text(request.record, words.REQUEST_IDS) == request_id:
                return request
        elif _agent_id(request.record) == _agent_id(record) and request.started_at <= began_at:
            return request
    return None


def _is_over(acts: _Acts) -> bool:
    """Tell whether the last that the agent itself did is a request that failed, or an answer that asks for no tool."""
    own = [request for request in acts.requests if not _agent_id(request.record)]
    if not own or acts.pending:
        return False
    last = own[-1]
    executed = [record for record in acts.executions.values() if not _agent_id(record)]
    if any(_order(record) > _order(last.record) for record in executed):
        return False
    if has_failed(last.record.log.attributes):
        return True
    tells_answers = any(request.is_answered for request in acts.requests)
    return not last.calls and (last.is_answered or not tells_answers)


def _agent(trace_id: str, first: OwnRecord, acts: _Acts) -> Span:
    """Return the span of the agent itself. Its times are those of what it did."""
    name = first.resource.get(semconv.SERVICE_NAME)
    said: dict[str, object] = {semconv.OPERATION_NAME: "invoke_agent"}
    if isinstance(name, str) and name:
        said[semconv.AGENT_NAME] = name
    if session := text_in(first.log.attributes, words.SESSIONS):
        said[semconv.CONVERSATION_ID] = session
    prompt = acts.prompts[-1]
    if question := text_in(prompt.log.attributes, words.QUESTIONS):
        said[semconv.INPUT_MESSAGES] = _messages("user", [_text_part(question)])
    root = _span(trace_id, prompt, "", f"invoke_agent {name}", _INTERNAL, said, "")
    root.started_at = prompt.log.time_ns
    return root


def _agents_below(root: Span, acts: _Acts) -> list[Span]:
    """Return a span for each agent that the first one started, from its first act to its last."""
    found: dict[str, Span] = {}
    records = [*(request.record for request in acts.requests), *acts.executions.values()]
    for record in sorted(records, key=_order):
        if not (agent_id := _agent_id(record)):
            continue
        if agent_id not in found:
            said = {semconv.OPERATION_NAME: "invoke_agent", semconv.AGENT_ID: agent_id, "agent_id": agent_id}
            found[agent_id] = _span(
                root.trace_id, record, agent_id, "invoke_agent", _INTERNAL, said, root.span_id
            )
            found[agent_id].attributes = said
        span = found[agent_id]
        span.started_at = min(span.started_at, record.log.time_ns - duration_ns(record.log.attributes))
        span.ended_at = max(span.ended_at, record.log.time_ns)
        if (name := _text(record, words.AGENTS)) and span.name == "invoke_agent":
            span.name = f"invoke_agent {name}"
            span.attributes = {**span.attributes, semconv.AGENT_NAME: name}
    return [*found.values()]


def _model_span(root: Span, parents: Mapping[str, str], request: _Request) -> Span:
    said: dict[str, object] = {semconv.OPERATION_NAME: "chat", **tokens_in(request.record.log.attributes)}
    model = _text(request.record, words.MODELS)
    if model:
        said[semconv.REQUEST_MODEL] = model
    parts = [_text_part(request.text)] if request.text is not None else []
    parts += [_call_part(call_id, record) for call_id, record in request.calls.items()]
    if parts:
        said[semconv.OUTPUT_MESSAGES] = _messages("assistant", parts)
    span = _span(
        root.trace_id,
        request.record,
        _identity(request.record),
        f"chat {model}".rstrip(),
        CLIENT,
        said,
        parents.get(_agent_id(request.record), root.span_id),
    )
    span.started_at = request.started_at
    return span


def _tool_span(root: Span, parents: Mapping[str, str], call_id: str, record: OwnRecord) -> Span:
    heard = record.log.attributes
    tool = _text(record, words.TOOLS)
    said: dict[str, object] = {semconv.OPERATION_NAME: "execute_tool", semconv.TOOL_CALL_ID: call_id}
    if tool:
        said[semconv.TOOL_NAME] = tool
    if (arguments := text_in(heard, words.ARGUMENTS)) is not None:
        said[semconv.TOOL_CALL_ARGUMENTS] = arguments
    if (result := text_in(heard, words.RESULTS)) is not None:
        said[semconv.TOOL_CALL_RESULT] = result
    name = f"execute_tool {tool}".rstrip()
    return _span(
        root.trace_id, record, call_id, name, _INTERNAL, said, parents.get(_agent_id(record), root.span_id)
    )


def _span(
    trace_id: str,
    record: OwnRecord,
    identity: str,
    name: str,
    kind: int,
    said: Mapping[str, object],
    parent_span_id: str,
) -> Span:
    """Return a span that a record tells, from when its act began to when the record was written."""
    heard = record.log.attributes
    failed = has_failed(heard)
    attributes = {key: value for key, value in heard.items() if key not in words.TEXTS}
    if failed and (error_type := error_type_in(heard)) is not None:
        attributes[semconv.ERROR_TYPE] = error_type
    return Span(
        trace_id=trace_id,
        span_id=hash_of([trace_id, identity])[:16],
        parent_span_id=parent_span_id,
        name=name,
        kind=kind,
        flags=0,
        started_at=record.log.time_ns - duration_ns(heard),
        ended_at=record.log.time_ns,
        status="error" if failed else "unset",
        status_message=(text_in(heard, words.ERRORS) or "") if failed else "",
        scope=record.scope,
        scope_version=record.scope_version,
        attributes={**attributes, **said},
        resource=record.resource,
        sequence=record.sequence,
        arrived_at=record.arrived_at,
        heard_sequence=record.sequence,
        heard_at=record.arrived_at,
        is_told=True,
    )


def _act(record: OwnRecord) -> str:
    return words.act_of(*_names(record))


def _names(record: OwnRecord) -> list[str]:
    named, body = record.log.attributes.get(semconv.EVENT_NAME), record.log.body
    return [text for text in (record.log.event, named, body) if isinstance(text, str)]


def _text(said: OwnRecord | Span, names: Sequence[str]) -> str:
    attributes: Attributes = said.attributes if isinstance(said, Span) else said.log.attributes
    return text_in(attributes, names) or ""


def _agent_id(record: OwnRecord) -> str:
    """Return the id of the agent that did it, where that is one that the first agent started; '' of the first."""
    return _text(record, words.AGENT_IDS)


def _order(record: OwnRecord) -> tuple[int, int, tuple[int, int, str]]:
    """By time, then as the agent counts them, then by what they hold: never by their arrival."""
    log = record.log
    return (log.time_ns, number_in(log.attributes, words.SEQUENCES) or 0, log.order)


def _identity(record: OwnRecord) -> str:
    return record.log.order[2]


def _text_part(text: str) -> dict[str, object]:
    return {"type": "text", "content": text}


def _call_part(call_id: str, record: OwnRecord) -> dict[str, object]:
    part: dict[str, object] = {"type": "tool_call", "id": call_id, "name": _text(record, words.TOOLS)}
    if (arguments := text_in(record.log.attributes, words.ARGUMENTS)) is not None:
        part["arguments"] = arguments
    return part


def _messages(role: str, parts: Sequence[Mapping[str, object]]) -> str:
    return write_json([{"role": role, "parts": [*parts]}])
