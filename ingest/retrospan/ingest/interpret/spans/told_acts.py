"""What log records tell that an agent did with a prompt: each request to a model, what it answered, each execution of a tool.

A record is written when its act is over, and says how long that took.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from retrospan.ingest.interpret.spans.sent_as_logs import OwnRecord
from retrospan.ingest.interpret.spans.span import LogRecord
from retrospan.ingest.interpret.spans.told_words import (
    duration_ns,
    has_failed,
    is_refused,
    number_in,
    text_in,
    tokens_in,
)
from retrospan.schemas import prompt_records as words
from retrospan.schemas import semconv

_OF_REQUESTS = frozenset((words.REQUEST, words.PIECE, *words.ENDS))


@dataclass(slots=True)
class Request:
    """A request to a model, told to be over: when, by which record, and what it is known to have answered."""

    record: OwnRecord
    started_at: int
    is_answered: bool = False  # whether its answer was told, be it without the text
    text: str | None = None
    calls: dict[str, OwnRecord] = field(default_factory=dict)  # by id, what told of each last
    has_body: bool = False  # whether the answer was told whole as well


@dataclass(slots=True)
class Acts:
    """What the records of one trace tell, in their order."""

    prompts: list[OwnRecord] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    by_id: dict[str, Request] = field(default_factory=dict)
    of_agents: dict[str, list[Request]] = field(default_factory=dict)
    executions: dict[str, OwnRecord] = field(
        default_factory=dict
    )  # by id of the call; those refused among them
    pending: bool = False  # whether a request began of which no end was told


def read_acts(ordered: Sequence[OwnRecord]) -> Acts:
    """Return the acts of records that are in order. An answer's calls may be told before the answer: requests come first."""
    acts = Acts()
    told = [(act, record) for record in ordered if (act := act_of_record(record))]
    _read_requests(acts, told)
    for act, record in told:
        said = record.log.attributes
        if act == words.PROMPT:
            acts.prompts.append(record)
        elif act == words.ANSWER and (request := _answering(acts, record)):
            request.is_answered = True
            request.text = text_in(said, words.ANSWERS)
        elif act == words.DECISION or act in words.EXECUTIONS:
            call_id = text_in(said, words.CALL_IDS) or identity_of(record)
            if request := _answering(acts, record):
                request.calls[call_id] = record
            if act != words.DECISION or is_refused(said):
                acts.executions[call_id] = record
    _read_bodies(acts, [record for act, record in told if act in words.BODIES])
    return acts


def _read_bodies(acts: Acts, bodies: Sequence[OwnRecord]) -> None:
    """Note of which requests the bodies were told: that of the answer names its request, that of the request the other."""
    of_bodies: dict[str, Request] = {}
    for record in bodies:
        if (request := acts.by_id.get(text_of(record, words.REQUEST_IDS))) is not None:
            request.has_body = True
            of_bodies[text_of(record, words.BODY_IDS)] = request
    for record in bodies:
        if (request := of_bodies.get(text_of(record, words.BODY_IDS))) is not None:
            request.started_at = min(request.started_at, record.log.time_ns)


def _read_requests(acts: Acts, told: Sequence[tuple[str, OwnRecord]]) -> None:
    begun: OwnRecord | None = None
    for act, record in told:
        said = record.log.attributes
        if act not in _OF_REQUESTS:
            continue
        if act in words.ENDS or tokens_in(said) or has_failed(said):
            started_at = record.log.time_ns - duration_ns(said)
            if begun is not None and act == words.PIECE:
                started_at = begun.log.time_ns - duration_ns(begun.log.attributes)
            is_answered = any(name in said for name in words.ANSWERS)
            _add_request(acts, Request(record, started_at, is_answered, text_in(said, words.ANSWERS)))
            begun = None
        elif act == words.REQUEST:
            begun = record
    acts.pending = begun is not None


def _add_request(acts: Acts, request: Request) -> None:
    acts.requests.append(request)
    acts.of_agents.setdefault(agent_id_of(request.record), []).append(request)
    if request_id := text_of(request.record, words.REQUEST_IDS):
        acts.by_id[request_id] = request


def _answering(acts: Acts, record: OwnRecord) -> Request | None:
    """Return the request whose answer a record is about: the one with its id; without an id the last of its agent that had
    begun by then, for a tool may be executed before the answer that asked for it has ended."""
    request_id = text_of(record, words.REQUEST_IDS)
    if request_id:
        return acts.by_id.get(request_id)
    began_at = record.log.time_ns - duration_ns(record.log.attributes)
    of_agent = acts.of_agents.get(agent_id_of(record), ())
    return next((request for request in reversed(of_agent) if request.started_at <= began_at), None)


def last_request(acts: Acts) -> Request | None:
    """Return the last request of the agent itself, not of one that it started."""
    return next((each for each in reversed(acts.requests) if not agent_id_of(each.record)), None)


def is_over(acts: Acts) -> bool:
    """Tell whether the last that the agent itself did is a request that failed, or an answer that asks for no tool."""
    last = last_request(acts)
    if last is None or acts.pending:
        return False
    executed = [record for record in acts.executions.values() if not agent_id_of(record)]
    if any(order_of(record) > order_of(last.record) for record in executed):
        return False
    if has_failed(last.record.log.attributes):
        return True
    tells_answers = any(request.is_answered for request in acts.requests)
    return not last.calls and (last.is_answered or not tells_answers)


def act_of_record(record: OwnRecord) -> str:
    return words.act_of(*names_of(record))


def names_of(record: OwnRecord) -> list[str]:
    """Return what a record is called, wherever that stands."""
    return names_in(record.log)


def names_in(log: LogRecord) -> list[str]:
    """Return what a log record is called, wherever that stands."""
    named, body = log.attributes.get(semconv.EVENT_NAME), log.body
    return [text for text in (log.event, named, body) if isinstance(text, str)]


def text_of(record: OwnRecord, names: Sequence[str]) -> str:
    """Return the first text that a record has under one of these names; '' where it has none."""
    return text_in(record.log.attributes, names) or ""


def agent_id_of(record: OwnRecord) -> str:
    """Return the id of the agent that did it, where that is one that the first agent started; '' of the first."""
    return text_of(record, words.AGENT_IDS)


def order_of(record: OwnRecord) -> tuple[int, int, tuple[int, int, str]]:
    """By time, then as the agent counts them, then by what they hold: never by their arrival."""
    log = record.log
    return (log.time_ns, number_in(log.attributes, words.SEQUENCES) or 0, log.order)


def identity_of(record: OwnRecord) -> str:
    return record.log.order[2]
