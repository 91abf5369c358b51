"""Reads raw rows back for interpretation: every variant of every span and log record of some traces, once each.

Called by the interpreter. One statement however many traces are asked for; many runs are read in one go.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any, cast

from retrospan.schemas.raw import Event, Link, RawLog, RawSpan, Triple
from retrospan.schemas.store import Parameters, Store

#: The format that `parse_spans` and `parse_logs` read.
ROWS_FORMAT = "JSONCompactEachRow"


def read_spans(store: Store, tenant: str, trace_ids: Sequence[str]) -> list[RawSpan]:
    """All variants of the spans of these traces, by trace, span, and order of arrival (the last is the one shown)."""
    return parse_spans(span_rows(store, tenant, trace_ids))


def read_logs(store: Store, tenant: str, trace_ids: Sequence[str]) -> list[RawLog]:
    """All log records of these traces, by trace, span, and order of arrival. '' asks for those outside any trace."""
    return parse_logs(log_rows(store, tenant, trace_ids))


def span_rows(store: Store, tenant: str, trace_ids: Sequence[str]) -> bytes:
    """The rows of `read_spans` as the engine writes them, for `parse_spans` in any process."""
    return _rows(store, "read_spans.sql", tenant, trace_ids)


def log_rows(store: Store, tenant: str, trace_ids: Sequence[str]) -> bytes:
    """The rows of `read_logs` as the engine writes them, for `parse_logs` in any process."""
    return _rows(store, "read_logs.sql", tenant, trace_ids)


def spans_statement() -> str:
    """The SELECT of `span_rows`, for who asks it elsewhere: {tenant:String} and {trace_ids:Array(String)}."""
    return _statement("read_spans.sql")


def logs_statement() -> str:
    """The SELECT of `log_rows`, likewise."""
    return _statement("read_logs.sql")


def parse_spans(data: bytes) -> list[RawSpan]:
    """The raw spans in what `span_rows` returned."""
    spans: list[RawSpan] = []
    for row in _parsed(data):
        span = RawSpan(*row)
        span.content_hash = int(row[3])
        span.attributes = _triples(row[15])
        span.events = _events(row[17])
        span.links = _links(row[19])
        span.resource_attributes = _triples(row[21])
        span.scope_attributes = _triples(row[26])
        spans.append(span)
    return spans


def parse_logs(data: bytes) -> list[RawLog]:
    """The raw log records in what `log_rows` returned."""
    logs: list[RawLog] = []
    for row in _parsed(data):
        log = RawLog(*row)
        log.content_hash = int(row[3])
        log.body = (row[11][0], row[11][1])
        log.attributes = _triples(row[12])
        log.resource_attributes = _triples(row[15])
        log.scope_attributes = _triples(row[20])
        logs.append(log)
    return logs


def _rows(store: Store, file: str, tenant: str, trace_ids: Sequence[str]) -> bytes:
    if not trace_ids:
        return b""
    parameters: Parameters = {"tenant": tenant, "trace_ids": trace_ids}
    return store.query(_statement(file), parameters, output_format=ROWS_FORMAT)


def _parsed(data: bytes) -> Iterator[list[Any]]:
    # The engine's columns have known types, JSON has not: from here on each row is taken at its word.
    # Line by line: a run may have hundreds of megabytes, and they are in memory once already.
    for line in io.BytesIO(data):
        if text := line.decode("utf-8", "surrogateescape").strip("\n"):
            yield cast("list[Any]", json.loads(text))


@cache
def _statement(file: str) -> str:
    return resources.files("retrospan.ingest.load").joinpath(file).read_text("utf-8")


def _triples(items: list[list[str]]) -> list[Triple]:
    return [(key, kind, value) for key, kind, value in items]


def _events(items: list[Any]) -> list[Event]:
    return [(at, name, _triples(attributes), dropped) for at, name, attributes, dropped in items]


def _links(items: list[Any]) -> list[Link]:
    return [
        (trace_id, span_id, trace_state, flags, _triples(attributes), dropped)
        for trace_id, span_id, trace_state, flags, attributes, dropped in items
    ]
