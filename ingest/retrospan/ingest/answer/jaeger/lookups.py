"""What Jaeger's clients are told, looked up with one reader's connection: each question one statement or a few.

Spans are read in chunks, so that a long answer is never held as a whole: first the ids of all spans, then what they
carry. What a trace has beyond its limit is counted, not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from retrospan.ingest.answer.jaeger.searches import Search, Window
from retrospan.ingest.answer.jaeger.sql import load
from retrospan.ingest.answer.jaeger.tags import conditions
from retrospan.schemas.raw import Event, Link, Triple
from retrospan.schemas.store import Parameters, Store, read_rows

#: Names of services or operations in one answer, and calls between services.
MOST_NAMES = 10_000
#: Spans of one trace, and of one answer.
MOST_SPANS = 10_000
MOST_OF_ALL = 100_000
#: Spans that are read at once, with all that they carry.
CHUNK = 200
#: The index of attributes holds so many bytes of a value.
_INDEXED_BYTES = 200


@dataclass(slots=True)
class Mark:
    """What interpretation says of a span. '' and 0 where it says nothing."""

    run_id: str = ""
    operation: str = ""
    outcome: str = ""
    step: int = 0


@dataclass(slots=True)
class Span:
    """A span as sent, in the order of the columns of `read_spans.sql`, and what it is in its run."""

    trace_id: str
    span_id: str
    parent_span_id: str
    trace_state: str
    flags: int
    name: str
    kind: int
    started_ns: int
    ended_ns: int
    status_code: int
    status_message: str
    attributes: list[Triple]
    dropped_attributes: int
    events: list[Event]
    dropped_events: int
    links: list[Link]
    dropped_links: int
    resource_attributes: list[Triple]
    resource_dropped: int
    resource_schema_url: str
    scope_name: str
    scope_version: str
    scope_attributes: list[Triple]
    scope_schema_url: str
    mark: Mark = field(default_factory=Mark)


@dataclass(slots=True)
class TraceKeys:
    """A trace before its spans are read. `size` is how many it has, `spans` those that are shown."""

    trace_id: str
    size: int
    spans: list[str]


#: Some spans of a trace, in order.
Piece = tuple[TraceKeys, list[Span]]


@dataclass(frozen=True, slots=True)
class Summary:
    """A trace in numbers, in the order of the columns of `summarise_traces.sql`."""

    trace_id: str
    spans: int
    errors: int
    orphans: int
    first_ns: int
    last_ns: int
    root_service: str
    root_name: str
    spans_of: Mapping[str, int]
    errors_of: Mapping[str, int]


class Lookups:
    """Every method raises SqlError and WarehouseUnavailable; those that take a search also BadRequest."""

    def __init__(self, store: Store) -> None:
        """`store` is a connection that only reads, and renders 64-bit integers as numbers and tuples as lists."""
        self._store = store

    def services(self) -> list[str]:
        """Return the names of services, '' for that of spans without one."""
        return [str(name) for (name,) in self._rows("list_services", {"most": MOST_NAMES})]

    def operations(self, service: str, kinds: Sequence[int] = ()) -> list[tuple[str, int]]:
        """Return the names of a service's spans with their kinds."""
        asked: Parameters = {"service": service, "kinds": kinds, "most": MOST_NAMES}
        return [(str(name), int(kind)) for name, kind in self._rows("list_operations", asked)]

    def calls(self, window: Window) -> list[tuple[str, str, int]]:
        """Return caller, callee and how often."""
        asked: Parameters = {
            "earliest": window.earliest,
            "latest": window.latest,
            "most": MOST_NAMES,
        }
        found = [(str(one), str(other), int(count)) for one, other, count in self._rows("count_calls", asked)]
        return [call for call in found if window.service is None or window.service in call[:2]]

    def find(self, search: Search) -> list[str]:
        """Return the ids of the traces that a search finds, the newest first."""
        asked = conditions(search.tags)
        own = self._own(asked.keys, asked.values) if asked.keys else []
        parameters: Parameters = {
            "any_service": int(search.service is None),
            "service": search.service or "",
            "any_name": int(search.operation is None),
            "name": search.operation or "",
            "earliest": search.earliest,
            "latest": search.latest,
            "shortest": search.shortest,
            "longest": search.longest,
            "kinds": asked.kinds,
            "codes": asked.codes,
            "scopes": asked.scopes,
            "messages": asked.messages,
            "keys": asked.keys,
            "values": asked.values,
            "own": [key for key, _ in own],
            "own_values": [value for _, value in own],
            "interpreted": int(asked.interpreted),
            "run_id": asked.run_id,
            "operation": asked.operation,
            "outcome": asked.outcome,
            "step": asked.step,
            "most": search.limit,
        }
        return [str(found) for (found,) in self._rows("find_traces", parameters)]

    def summaries(self, traces: Sequence[str]) -> list[Summary]:
        """Return traces in numbers, in the order of their ids."""
        return [
            Summary(*row[:8], *map(_counts, row[8:]))
            for row in self._rows("summarise_traces", {"traces": traces})
        ]

    def keys(self, traces: Sequence[str]) -> list[TraceKeys]:
        """Return the traces that there are, with the ids of the spans to be shown, by their start."""
        found: dict[str, TraceKeys] = {}
        asked: Parameters = {"traces": traces, "most": MOST_SPANS, "most_of_all": MOST_OF_ALL}
        for trace_id, span_id, size in self._rows("list_spans", asked):
            found.setdefault(trace_id, TraceKeys(trace_id, size, [])).spans.append(span_id)
        return list(found.values())

    def spans(self, traces: Sequence[TraceKeys]) -> Iterator[Piece]:
        """Yield the spans of traces in order; a long trace in several pieces."""
        chunk: list[tuple[TraceKeys, Sequence[str]]] = []
        room = CHUNK
        for trace in traces:
            for begin in range(0, len(trace.spans), CHUNK):
                ids = trace.spans[begin : begin + CHUNK]
                if len(ids) > room:
                    yield from self._read(chunk)
                    chunk, room = [], CHUNK
                chunk.append((trace, ids))
                room -= len(ids)
        yield from self._read(chunk)

    def _read(self, chunk: Sequence[tuple[TraceKeys, Sequence[str]]]) -> Iterator[Piece]:
        if not chunk:
            return
        asked: Parameters = {
            "traces": list(dict.fromkeys(trace.trace_id for trace, _ in chunk)),
            "spans": list(dict.fromkeys(span for _, ids in chunk for span in ids)),
        }
        marks = self._marks(asked)
        found = {(row[0], row[1]): Span(*row) for row in self._rows("read_spans", asked)}
        for trace, ids in chunk:
            spans: list[Span] = []
            for span_id in ids:
                # What was deleted between the two statements is not there any more.
                if (span := found.pop((trace.trace_id, span_id), None)) is not None:
                    span.mark = marks.get((trace.trace_id, span_id), span.mark)
                    spans.append(span)
            yield trace, spans

    def _marks(self, asked: Parameters) -> dict[tuple[str, str], Mark]:
        marks = {
            (trace_id, span_id): Mark(run_id, operation)
            for trace_id, span_id, run_id, operation in self._rows("read_marks", asked)
        }
        runs = sorted({mark.run_id for mark in marks.values() if mark.run_id})
        if not runs:
            return marks
        outcomes = {row[0]: str(row[1]) for row in self._rows("read_outcomes", {"runs": runs})}
        for mark in marks.values():
            mark.outcome = outcomes.get(mark.run_id, "")
        for trace_id, span_id, step in self._rows("read_steps", {"runs": runs, "spans": asked["spans"]}):
            if (trace_id, span_id) in marks:
                marks[trace_id, span_id].step = step
        return marks

    def _own(self, keys: Sequence[str], values: Sequence[str]) -> list[tuple[str, str]]:
        """Return the attributes that no resource has and whose value is written in one way only."""
        shared = {key for (key,) in self._rows("list_resource_keys", {"keys": keys})}
        return [
            (key, value)
            for key, value in zip(keys, values, strict=True)
            if key not in shared and not value.endswith(".0") and len(value.encode()) <= _INDEXED_BYTES
        ]

    def _rows(self, name: str, parameters: Parameters) -> list[list[Any]]:
        # Not `Store.rows`, which would change settings: this connection only reads.
        return list(read_rows(self._store.query(load(name), parameters, output_format="JSONCompactEachRow")))


def _counts(pair: Any) -> Mapping[str, int]:
    names, counts = pair
    return dict(zip(names, counts, strict=True))
