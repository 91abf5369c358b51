"""What memory operations wrote and read: the GenAI conventions' `create_memory`, `update_memory`, `search_memory` …

A record is the entity `memory` with the id `store/record` (`record` where no store is named), a store the entity
`memory_store`. A record's fields are those it was sent with: `content` and `metadata`.
"""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.interpret.stated.observations import Observation, Use, observe
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.json_text import read_value
from retrospan.schemas import semconv
from retrospan.schemas.hashing import hash_of

RECORD, STORE = "memory", "memory_store"
_WRITES = ("create_memory", "update_memory", "upsert_memory")
_FIELDS = ("content", "metadata")
#: Records of one operation that are read.
MOST_RECORDS = 10_000


def read_memories(steps: list[RunStep], problems: ParseIssues) -> Iterator[Observation | Use]:
    """Yield what the memory operations of a run that succeeded wrote and read, in the order of the steps."""
    for step in steps:
        if step.kind == "memory" and step.status == "ok":
            yield from _operation(step, problems)


def _operation(step: RunStep, problems: ParseIssues) -> Iterator[Observation | Use]:
    span = step.span
    places = span.fields
    name = places.text(semconv.OPERATION_NAME) or ""
    store = places.text(semconv.MEMORY_STORE_ID)
    if name in ("create_memory_store", "delete_memory_store"):
        if store is None:
            reason = f"missing in {name}: which store is not known"
            problems.add(span.sent.span_id, semconv.MEMORY_STORE_ID, "", reason)
        else:
            changes = {"exists": True if name == "create_memory_store" else None}
            yield from observe(_common(step, STORE, store, name), changes)
    elif name in _WRITES:
        yield from _written(step, places, store, name, problems)
    elif name == "delete_memory":
        for record, _ in _records(places):
            yield from observe(_common(step, RECORD, _id(store, record), name), dict.fromkeys(_FIELDS))
    elif name == "search_memory":
        at = span.sent.done_at
        for record, _ in _records(places):
            yield Use(RECORD, _id(store, record), None, None, at, step.number, span)


def _written(
    step: RunStep, places: SpanFields, store: str | None, name: str, problems: ParseIssues
) -> Iterator[Observation]:
    found = [*_records(places)]
    if not any(changes for _, changes in found):
        reason = f"{name} does not give a record or what was written"
        problems.add(step.span.sent.span_id, semconv.MEMORY_RECORDS, "", reason)
    for record, changes in found:
        if changes:
            yield from observe(_common(step, RECORD, _id(store, record), name), changes)


def _records(places: SpanFields) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the id of each record that an operation names, with the fields it came with."""
    only = places.text(semconv.MEMORY_RECORD_ID)
    value = places.value(semconv.MEMORY_RECORDS)
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


def _common(step: RunStep, entity_type: str, entity_id: str, name: str) -> Observation:
    sent = step.span.sent
    at = sent.done_at
    return Observation(
        observation_id=hash_of([sent.trace_id, sent.span_id, name, entity_id]),
        entity_type=entity_type,
        entity_id=entity_id,
        field="",
        value=None,
        value_hash="",
        valid_from=at,
        said_at=at,
        known_from=sent.arrived_at,
        step=step.number,
        span=step.span,
        source=name,
    )


def _id(store: str | None, record: str) -> str:
    return f"{store}/{record}" if store else record
