"""Events: what was decided, learned, relied on, produced, saved, forgotten, approved.

Each is an event on the span that is current, and is sent at once where `instrument()` delivers the span. Without a
current span, but with a provider, the event gets its own span, so statements outside any block are not lost. Nothing
raises; each returns what the program may want to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any
from uuid import uuid4

from opentelemetry import trace

from retrospan.exporter.recording.encoding import json_text
from retrospan.exporter.recording.guests import guest, say_once
from retrospan.exporter.recording.scopes import claims_in, scope_in
from retrospan.exporter.recording.spanning import tracer
from retrospan.exporter.recording.telling import fill, say
from retrospan.schemas import attributes as names


def _say(event: str, said: Callable[[], Mapping[str, Any]]) -> None:
    """Put an event on the current span, without attributes that are None; outside any span, on a new one.

    The attributes are built only if the span is recorded.
    """
    span = trace.get_current_span()
    at = span.get_span_context()
    if span.is_recording():
        say(span, event, said())
    elif not at.is_valid or at.is_remote:
        alone = tracer().start_span(event.removeprefix("retrospan."))
        if alone.is_recording():
            alone.set_attributes(claims_in(None))
            say(alone, event, said())
        alone.end()


def _entity(entity: str | tuple[str, str]) -> dict[str, str]:
    """Return type and id of an entity: a pair, or `type/id` (the id may hold further slashes)."""
    try:
        kind, _, own = entity.partition("/") if isinstance(entity, str) else (entity[0], "", entity[1])
        return {names.ENTITY_TYPE: str(kind), names.ENTITY_ID: str(own)}
    except Exception as error:  # noqa: BLE001 - a guest: what was said of it is kept
        say_once("an entity", error)
        return {names.ENTITY_TYPE: "", names.ENTITY_ID: _text(entity)}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json_text(value)


def _share(given: object) -> float | str | None:
    """Return a confidence; what is not a number is written as the text that it is, and costs nothing else."""
    if given is None:
        return None
    try:
        return float(given)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    except Exception as error:  # noqa: BLE001 - a guest
        say_once("a confidence", error)
        return _text(given)


def _listed(options: object) -> str | None:
    """Return what there was to choose from; what cannot be listed as it is."""
    if options is None:
        return None
    try:
        return json_text(list(options))  # type: ignore[call-overload]  # pyright: ignore
    except Exception as error:  # noqa: BLE001 - a guest
        say_once("the options of a decision", error)
        return json_text(options)


def _time(moment: datetime | date | str | None) -> str | None:
    """Return a time as RFC 3339; one without a zone is taken as this machine's."""
    if isinstance(moment, datetime):
        try:
            return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
        except Exception as error:  # noqa: BLE001 - a guest: near the ends of the calendar
            say_once("a time", error)
            return moment.isoformat()
    if isinstance(moment, date):
        return f"{moment.isoformat()}T00:00:00Z"
    return moment


@guest(None)
def decide(
    name: str,
    chosen: object,
    *,
    options: Sequence[object] | None = None,
    rationale: str | None = None,
    confidence: float | None = None,
) -> None:
    """Record a choice: its subject, what was chosen, the options, the reason, and the confidence (0 to 1)."""
    _say(
        names.DECISION,
        lambda: {
            names.DECISION_NAME: name,
            names.DECISION_CHOSEN: _text(chosen),
            names.DECISION_OPTIONS: _listed(options),
            names.DECISION_RATIONALE: rationale,
            names.DECISION_CONFIDENCE: _share(confidence),
        },
    )


@guest("")
def observe(
    entity: str | tuple[str, str],
    changes: Mapping[str, object],
    *,
    id: str | None = None,
    source: str | None = None,
    confidence: float | None = None,
    valid_from: datetime | date | str | None = None,
    priority: int | None = None,
    reason: str | None = None,
) -> str:
    """Record that fields of an entity (`type/id`) were seen, or set, to have these values; None clears a field.

    Returns the observation's id, by which `use` and `derive` can name it.

    Args:
        source: Where this comes from: a sensor, a tool, a person.
        valid_from: Since when it holds in the world, by default now.
        confidence: From 0 to 1. priority: which of two statements wins, the higher one; 0 by default, 999 at most.
    """
    return _observe(entity, changes, id, source, confidence, valid_from, priority, reason, correction=False)


@guest("")
def correct(
    entity: str | tuple[str, str],
    changes: Mapping[str, object],
    *,
    id: str | None = None,
    source: str | None = None,
    valid_from: datetime | date | str | None = None,
    reason: str | None = None,
) -> str:
    """Record that an earlier statement about an entity was wrong: this one holds until it is itself corrected. Returns
    its id."""
    return _observe(entity, changes, id, source, None, valid_from, None, reason, correction=True)


def _observe(
    entity: str | tuple[str, str],
    changes: Mapping[str, object],
    id: str | None,
    source: str | None,
    confidence: float | None,
    valid_from: datetime | date | str | None,
    priority: int | None,
    reason: str | None,
    *,
    correction: bool,
) -> str:
    own = id or uuid4().hex
    _say(
        names.OBSERVATION,
        lambda: {
            **_entity(entity),
            names.CHANGES: json_text(changes),
            names.OBSERVATION_ID: own,
            names.SOURCE: source,
            names.CONFIDENCE: _share(confidence),
            names.VALID_FROM: _time(valid_from),
            names.PRIORITY: priority,
            names.CORRECTION: True if correction else None,
            names.REASON: reason,
        },
    )
    return own


@guest(None)
def use(entity: str | tuple[str, str], field: str | None = None, *, observation: str | None = None) -> None:
    """Record that the current step relied on an entity, on one field of it, or on one observation of it."""
    _say(names.USE, lambda: {**_entity(entity), names.FIELD: field, names.OBSERVATION_ID: observation})


@guest(None)
def derive(subject: str, object: str, relation: str = "wasDerivedFrom", *, role: str | None = None) -> None:
    """Record an edge of provenance: `derive("output:2841", "observation:4091")`.

    Both ends are references: `output:…`, `observation:…`, `entity:type/id`, `document:…`, `message:…`, `run:…`,
    `span:trace/span`. The relation is one of W3C PROV: `used`, `wasGeneratedBy`, `wasDerivedFrom`,
    `wasInformedBy`, `wasAttributedTo`, `actedOnBehalfOf`, `wasInvalidatedBy`.
    """
    said = {names.RELATION: relation, names.SUBJECT: subject, names.OBJECT: object, names.ROLE: role}
    _say(names.DERIVATION, lambda: said)


@guest("")
def output(id: str | None = None) -> str:
    """Name what the current span produces, so that it can be traced later; return the name.

    A span has one name: the last one given.
    """
    own = id or uuid4().hex
    span = trace.get_current_span()
    if span.is_recording():
        fill(span, names.OUTPUT_EVENT, {names.OUTPUT_ID: own})
    return own


@guest("")
def checkpoint(id: str | None = None, *, trigger: str | None = None, parent: str | None = None) -> str:
    """Record a point that the run can be resumed from; return its id.

    The parent is, by default, the checkpoint recorded before it in this run and process.
    """
    own = id or uuid4().hex
    scope = scope_in()
    last = scope.checkpoints[0] if scope and scope.checkpoints else []
    above = parent or (last[0] if last else None)
    last[:] = [own]
    said = {names.CHECKPOINT_ID: own, names.CHECKPOINT_TRIGGER: trigger, names.CHECKPOINT_PARENT: above}
    _say(names.CHECKPOINT, lambda: said)
    return own


@guest(None)
def compaction(type: str, *, tokens_before: int | None = None, tokens_after: int | None = None) -> None:
    """Record that the context was shortened: by `summary`, `edit` or `trim`, from how many tokens to how many."""
    said = {
        names.COMPACTION_TYPE: type,
        names.COMPACTION_TOKENS_BEFORE: tokens_before,
        names.COMPACTION_TOKENS_AFTER: tokens_after,
    }
    _say(names.COMPACTION, lambda: said)


@guest(None)
def approve(decision: str, *, approver: str | None = None, explanation: str | None = None) -> None:
    """Record a person's answer to a question: `approved`, `rejected`, `modified` …, who it was, and why."""
    _say(
        names.APPROVAL,
        lambda: {
            names.APPROVAL_DECISION: decision,
            names.APPROVAL_APPROVER: approver,
            names.APPROVAL_EXPLANATION: explanation,
        },
    )
