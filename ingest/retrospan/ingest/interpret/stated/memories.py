"""What memory operations wrote and read: the GenAI conventions' `create_memory`, `update_memory`, `search_memory` …

A record is the entity `memory` with the id `store/record` (`record` where no store is named), a store the entity
`memory_store`. A record's fields are those it was sent with: `content` and `metadata`.
"""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.interpret.assembly.steps import Step
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.interpret.stated.observations import Observation, Use, observe
from retrospan.ingest.json_text import read_value
from retrospan.schemas.hashing import hash_of

RECORD, STORE = "memory", "memory_store"
_WRITES = ("create_memory", "update_memory", "upsert_memory")
_FIELDS = ("content", "metadata")
_NAME, _RECORDS = "gen_ai.operation.name", "gen_ai.memory.records"
#: Records of one operation that are read.
MOST_RECORDS = 10_000


def read_memories(steps: list[Step], problems: ParseIssues) -> Iterator[Observation | Use]:
    """Yield what the memory operations of a run that succeeded wrote and read, in the order of the steps."""
    for step in steps:
        if step.kind == "memory" and step.status == "ok":
            yield from _operation(step, problems)


def _operation(step: Step, problems: ParseIssues) -> Iterator[Observation | Use]:
    reading = step.reading
    places = SpanFields(reading.span)
    name = places.text(_NAME) or ""
    store = places.text("gen_ai.memory.store.id")
    if name in ("create_memory_store", "delete_memory_store"):
        if store is None:
            _refuse(
                problems, reading, "gen_ai.memory.store.id", f"missing in {name}: which store is not known"
            )
        else:
            changes = {"exists": True if name == "create_memory_store" else None}
            yield from observe(_common(step, STORE, store, name), changes)
    elif name in _WRITES:
        yield from _written(step, places, store, name, problems)
    elif name == "delete_memory":
        for record, _ in _records(places):
            yield from observe(_common(step, RECORD, _id(store, record), name), dict.fromkeys(_FIELDS))
    elif name == "search_memory":
        at = reading.span.ended_at or reading.span.started_at
        for record, _ in _records(places):
            yield Use(RECORD, _id(store, record), None, None, at, step.number, reading)


def _written(
    step: Step, places: SpanFields, store: str | None, name: str, problems: ParseIssues
) -> Iterator[Observation]:
    found = [*_records(places)]
    if not any(changes for _, changes in found):
        _refuse(problems, step.reading, _RECORDS, f"{name} does not say what it wrote, or to which record")
    for record, changes in found:
        if changes:
            yield from observe(_common(step, RECORD, _id(store, record), name), changes)


def _records(places: SpanFields) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the id of each record that an operation names, with the fields it came with."""
    only = places.text("gen_ai.memory.record.id")
    value = places.value(_RECORDS)
    listed = value if isinstance(value, list) else [] if value is None else [value]
    seen: set[str] = set()
    for element in listed[:MOST_RECORDS]:
        record = read_value(element)
        if not isinstance(record, dict):
            record = {"content": record}
        named = record.get("id") or (only if len(listed) == 1 else None)
        if isinstance(named, str | int) and not isinstance(named, bool) and str(named) not in seen:
            seen.add(str(named))
            yield str(named), {key: record[key] for key in _FIELDS if key in record}
    if only is not None and not listed:
        yield only, {}


def _common(step: Step, entity_type: str, entity_id: str, name: str) -> Observation:
    span = step.reading.span
    at = span.ended_at or span.started_at
    return Observation(
        observation_id=hash_of([span.trace_id, span.span_id, name, entity_id]),
        entity_type=entity_type,
        entity_id=entity_id,
        field="",
        value=None,
        value_hash="",
        valid_from=at,
        said_at=at,
        step=step.number,
        reading=step.reading,
        source=name,
    )


def _id(store: str | None, record: str) -> str:
    return f"{store}/{record}" if store else record


def _refuse(problems: ParseIssues, reading: NormalizedSpan, field: str, reason: str) -> None:
    problems.add(reading.span.span_id, field, "", reason)
