"""The rows of `raw_spans` and `raw_logs`: each class mirrors its table, column for column.

An attribute list is a list of (key, kind, value) triples, ordered, one for each attribute as sent. What the
value holds depends on the kind:

    unset           ''                         the value has no member
    string          the text as it is          bytes that are not UTF-8 are surrogate-escaped here
    bool            true, false
    int             decimal
    double          the shortest text that reads back the same: 1 for 1.0, nan, inf, -inf
    bytes           base64
    array, kvlist   JSON                       a double always has a point or an exponent; unset is null;
                                               a kvlist keeps its order and repeated keys
    array*          [[tag, text], ...]         when an element is bytes, not finite, or nested
    kvlist*         [[key, tag, text], ...]

Tags: s string, b bool, i int, d double, y bytes (base64), u unset, A and M the base64 of the protobuf bytes of
an ArrayValue and a KeyValueList. `retrospan.ingest.load.attributes.value_of` reads all of them.

Ids are lower hex. `started_ns`, `time_ns` and the like are Unix nanoseconds as sent; `arrived_at` is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

Triple = tuple[str, str, str]  # key, kind, value
Event = tuple[int, str, list[Triple], int]  # time_ns, name, attributes, dropped
Link = tuple[
    str, str, str, int, list[Triple], int
]  # trace_id, span_id, trace_state, flags, attributes, dropped


@dataclass(slots=True)
class RawSpan:
    """One variant of a span as sent. `sequence` is that of the last log record that carried it."""

    tenant: str
    trace_id: str
    span_id: str
    content_hash: int
    sequence: int
    arrived_at: int
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
    scope_dropped: int
    scope_schema_url: str


@dataclass(slots=True)
class RawLog:
    """One log record as sent. `body` is (kind, value)."""

    tenant: str
    trace_id: str
    span_id: str
    content_hash: int
    sequence: int
    arrived_at: int
    time_ns: int
    observed_ns: int
    severity_number: int
    severity_text: str
    event_name: str
    body: tuple[str, str]
    attributes: list[Triple]
    dropped_attributes: int
    flags: int
    resource_attributes: list[Triple]
    resource_dropped: int
    resource_schema_url: str
    scope_name: str
    scope_version: str
    scope_attributes: list[Triple]
    scope_dropped: int
    scope_schema_url: str
