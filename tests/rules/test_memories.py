"""Memory operations of the GenAI conventions: what they wrote and read of which record."""

from __future__ import annotations

import json
from typing import Any

from spans import read_run

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.span import Span

TRACE = "ab" * 16


def _told(*operations: dict[str, Any]) -> Rows:
    """The rows of a run with an agent's span and one span per operation; `status` is the span's."""
    spans = [_span(0, "", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "orla"})]
    for place, attributes in enumerate(operations, start=1):
        status = attributes.pop("status", "unset")
        spans.append(
            _span(place, f"{0:016x}", {f"gen_ai.{key}": value for key, value in attributes.items()}, status)
        )
    return rows_of(read_run(TRACE, spans), "default", 1, None)


def _span(place: int, parent: str, attributes: dict[str, object], status: str = "unset") -> Span:
    return Span(
        trace_id=TRACE,
        span_id=f"{place:016x}",
        parent_span_id=parent,
        name=str(attributes["gen_ai.operation.name"]),
        kind=3,
        flags=0,
        started_at=1_000 * (place + 1) if place else 1,
        ended_at=1_000 * (place + 1) + 500 if place else 1_000_000,
        status=status,
        status_message="",
        scope="test",
        scope_version="",
        attributes=attributes,
        resource={},
    )


def _memory(operation: str, records: object = None, **more: object) -> dict[str, Any]:
    told: dict[str, Any] = {"operation.name": operation, "memory.store.id": "notes", **more}
    if records is not None:
        told["memory.records"] = records if isinstance(records, str) else json.dumps(records)
    return told


def _fields(rows: Rows) -> list[tuple[str, str, str, str | None, str | None]]:
    return [(one.entity_type, one.entity_id, one.field, one.value, one.source) for one in rows.observations]


def test_records_are_written_changed_and_deleted() -> None:
    rows = _told(
        _memory(
            "create_memory", [{"id": "m1", "content": "likes tea", "metadata": {"by": "ada"}, "score": 0.5}]
        ),
        _memory("update_memory", {"content": {"drink": "coffee"}}, **{"memory.record.id": "m1"}),
        _memory("upsert_memory", [{"id": 2, "content": "a"}, {"id": "m3", "content": "b"}]),
        _memory("delete_memory", **{"memory.record.id": "m1"}),
    )
    assert _fields(rows) == [
        ("memory", "notes/m1", "content", '"likes tea"', "create_memory"),
        ("memory", "notes/m1", "metadata", '{"by":"ada"}', "create_memory"),
        ("memory", "notes/m1", "content", '{"drink":"coffee"}', "update_memory"),
        ("memory", "notes/2", "content", '"a"', "upsert_memory"),
        ("memory", "notes/m3", "content", '"b"', "upsert_memory"),
        ("memory", "notes/m1", "content", None, "delete_memory"),
        ("memory", "notes/m1", "metadata", None, "delete_memory"),
    ]
    assert [one.step for one in rows.observations] == [1, 1, 2, 3, 3, 4, 4]
    assert rows.observations[2].valid_from == 3_500 and rows.problems == []


def test_a_search_uses_what_it_found() -> None:
    rows = _told(_memory("search_memory", [{"id": "m1", "content": "x"}, {"id": "m2", "content": "y"}]))
    assert rows.observations == []
    assert [(use.entity_type, use.entity_id, use.step) for use in rows.uses] == [
        ("memory", "notes/m1", 1),
        ("memory", "notes/m2", 1),
    ]
    edges = {(edge.subject, edge.relation, edge.object, edge.evidence) for edge in rows.edges}
    assert (f"step:{TRACE}/1", "used", "entity:memory/notes%2Fm1", "matched") in edges


def test_stores_come_and_go() -> None:
    rows = _told(_memory("create_memory_store"), _memory("delete_memory_store"))
    assert _fields(rows) == [
        ("memory_store", "notes", "exists", "true", "create_memory_store"),
        ("memory_store", "notes", "exists", None, "delete_memory_store"),
    ]


def test_what_is_not_said_is_a_problem_and_what_failed_is_nothing() -> None:
    rows = _told(
        _memory("create_memory"),
        _memory("update_memory", "[{broken"),
        {"operation.name": "create_memory_store"},
        _memory("create_memory", [{"id": "m1", "content": "x"}], status="error"),
        _memory("update_memory", [{"content": "which one?"}, {"content": "and this?"}]),
        _memory("search_memory", [None, 7, {"id": True}]),
    )
    assert rows.observations == [] and rows.uses == []
    assert [(problem.field, problem.reason.split(" ")[0]) for problem in rows.problems] == [
        ("gen_ai.memory.records", "create_memory"),
        ("gen_ai.memory.records", "update_memory"),
        ("gen_ai.memory.store.id", "missing"),
        ("gen_ai.memory.records", "update_memory"),
    ]
