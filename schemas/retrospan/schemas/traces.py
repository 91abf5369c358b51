"""The canonical rows of traces, whatever runs their spans are of: each class mirrors one `canon_*` table, column for
column.

Conventions are those of `retrospan.schemas.canonical`: times are Unix nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class TraceRow:
    """Which runs a trace belongs to; also written for traces that hold no run."""

    tenant: str
    trace_id: str
    run_ids: list[str]
    joins: str = ""  # the trace that this one goes on, '' for none
    claims: list[str] = field(default_factory=list)  # run ids that its spans name
    generation: int
    through_sequence: int
    interpreted_by: str
    through: list[int] = field(default_factory=list)  # the newest sequence of each log that was read
    # hash of the history that its first request retells; else of that after its last without ids; '' for none
    goes_on_from: str = ""
    ends_with: str = ""  # hash of the history after its last request, where that asked for tools
    # (arrival in Unix nanoseconds, dialect, spans, of these in no run); empty where a span lies in several rows
    arrivals: list[tuple[int, str, int, int]] = field(default_factory=list)
    # hashes of what its requests answered, where no agent is around them; and of answers that only a transcript retells
    answers: list[str] = field(default_factory=list)
    retold: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class SpanRow:
    """What interpretation adds to a raw span. `rendered` holds the JSON of attributes nested deeper than SQL reads."""

    tenant: str
    trace_id: str
    span_id: str
    generation: int
    run_id: str
    operation: str
    dialect: str
    rendered: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class LogTextRow:
    """The JSON of what a run's log record holds nested deeper than SQL reads; `record` is its content hash, decimal."""

    tenant: str
    run_id: str
    generation: int
    trace_id: str
    span_id: str
    record: str
    body: str  # '': SQL reads it
    attributes: dict[str, str] = field(default_factory=dict)
