"""What was observed and used of entities, from the events `retrospan.observation` and `retrospan.use`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.stated.events import StatedEvent
from retrospan.ingest.json_text import write_json
from retrospan.schemas import attributes as conventions
from retrospan.schemas.hashing import hash_of

#: The greatest priority that a producer can give, and that of a correction.
MOST, CORRECTED = 999, 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One statement about one field. `value` is JSON, None where the field is cleared; times are Unix nanoseconds."""

    observation_id: str
    entity_type: str
    entity_id: str
    field: str
    value: str | None
    value_hash: str
    valid_from: int
    said_at: int
    known_from: int
    step: int | None
    span: NormalizedSpan
    source: str | None = None
    confidence: float | None = None
    priority: int = 0
    correction: bool = False
    reason: str | None = None

    @property
    def op(self) -> str:
        return "set" if self.value is not None else "clear"


@dataclass(frozen=True, slots=True)
class Use:
    """An entity was relied on: one field of it, the fields of one observation, or all of it."""

    entity_type: str
    entity_id: str
    field: str | None
    observation_id: str | None
    at: int
    step: int | None
    span: NormalizedSpan


def read_observation(event: StatedEvent) -> list[Observation]:
    """Return what one `retrospan.observation` event states, field by field; nothing when it cannot be read."""
    fields = event.fields
    entity_type = fields.required(conventions.ENTITY_TYPE, conventions.OBSERVATION)
    entity_id = fields.required(conventions.ENTITY_ID, conventions.OBSERVATION)
    changes = fields.json_object(conventions.CHANGES)
    if changes is None and not fields.has(conventions.CHANGES):
        fields.refuse(conventions.CHANGES, f"missing in the event {conventions.OBSERVATION}")
    elif changes == {}:
        fields.refuse(conventions.CHANGES, "has no fields: nothing was observed")
    correction = fields.flag(conventions.CORRECTION)
    priority = fields.whole(conventions.PRIORITY) or 0
    valid_from = fields.time(conventions.VALID_FROM)
    if entity_type is None or entity_id is None or not changes:
        return []
    common = Observation(
        observation_id=fields.text(conventions.OBSERVATION_ID) or event.identity,
        entity_type=entity_type,
        entity_id=entity_id,
        field="",
        value=None,
        value_hash="",
        valid_from=event.at if valid_from is None else valid_from,
        said_at=event.at,
        step=event.step,
        span=event.span,
        known_from=event.known_from,
        source=fields.text(conventions.SOURCE),
        confidence=fields.share(conventions.CONFIDENCE),
        priority=CORRECTED if correction else min(max(priority, -MOST), MOST),
        correction=correction,
        reason=fields.text(conventions.REASON),
    )
    return list(observe(common, changes))


def observe(common: Observation, changes: Mapping[str, object]) -> Iterable[Observation]:
    """Yield one observation per field: `common` with the field and its value. Null clears."""
    for field, value in changes.items():
        cleared = value is None
        yield replace(
            common,
            field=field,
            value=None if cleared else write_json(value),
            value_hash="" if cleared else hash_of(value),
        )


def settle(found: Iterable[Observation], problems: ParseIssues) -> list[Observation]:
    """Return each (observation id, field) once: said again it is the one that arrived first.

    The same id with another value is a problem; the first in the order of the spans counts.
    """
    kept: dict[tuple[str, str], Observation] = {}
    for one in found:
        key = (one.observation_id, one.field)
        held = kept.setdefault(key, one)
        if held is one:
            continue
        if _content(held) != _content(one):
            problems.add(
                one.span.sent.span_id,
                conventions.OBSERVATION_ID,
                one.observation_id,
                f"the same id was stated before with different content: {one.field} = {one.value or 'null'} is left out",
            )
        elif one.known_from < held.known_from:
            kept[key] = one
    return list(kept.values())


def _content(one: Observation) -> tuple[object, ...]:
    return (one.entity_type, one.entity_id, one.value_hash, one.valid_from, one.priority)


def read_use(event: StatedEvent) -> Use | None:
    """Return what one `retrospan.use` event says was relied on."""
    fields = event.fields
    observation_id = fields.text(conventions.OBSERVATION_ID)
    entity_type = fields.required(conventions.ENTITY_TYPE, conventions.USE)
    entity_id = fields.required(conventions.ENTITY_ID, conventions.USE)
    if entity_type is None or entity_id is None:
        return None
    return Use(
        entity_type,
        entity_id,
        fields.text(conventions.FIELD),
        observation_id,
        event.at,
        event.step,
        event.span,
    )
