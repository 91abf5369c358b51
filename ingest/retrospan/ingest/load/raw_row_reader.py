"""Reads raw rows back for interpretation: every variant of every span and log record of some traces, once each.

Called by the interpreter. It takes one statement, however many traces are asked for, and one more for each further page,
so that a run of any length is read in the memory of one page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from sys import intern
from typing import Any

from retrospan.ingest.load.sql import load
from retrospan.schemas.errors import OutOfMemory
from retrospan.schemas.raw import Event, Link, RawLog, RawSpan, Triple
from retrospan.schemas.store import Store, read_rows

#: The format that `parse_spans` and `parse_logs` read.
ROWS_FORMAT = "JSONCompactEachRow"
#: Rows of one page of spans: some 12 MB of a run of ordinary length.
PAGE_SPANS = 4_096
#: Where spans are so large that the engine has no memory for a page, pages shrink to so many.
LEAST_PAGE_SPANS = 8

#: Asks a statement with its parameters; the rows in `ROWS_FORMAT`.
Fetch = Callable[[str, Mapping[str, str | int | Sequence[str]]], bytes]


def read_spans(store: Store, tenant: str, trace_ids: Sequence[str]) -> list[RawSpan]:
    """All variants of the spans of these traces, by trace, span, and order of arrival (the last is the one shown)."""
    return read_in_pages(store, tenant, trace_ids)[0]


def read_in_pages(store: Store, tenant: str, trace_ids: Sequence[str]) -> tuple[list[RawSpan], int]:
    """`read_spans`, and in how many pages: with one, they are what was there at one time."""
    spans: list[RawSpan] = []
    pages = 0
    for page in span_pages(store_fetch(store), tenant, trace_ids):
        spans += parse_spans(page)
        pages += 1
    return spans, pages


def read_logs(store: Store, tenant: str, trace_ids: Sequence[str]) -> list[RawLog]:
    """All log records of these traces, by trace, span, and order of arrival. '' asks for those outside any trace."""
    return parse_logs(log_rows(store_fetch(store), tenant, trace_ids))


def read_strays(
    store: Store, tenant: str, minutes: Sequence[int], conversations: Sequence[str], models: Sequence[str]
) -> list[RawLog]:
    """Log records of no trace, from these minutes since 1970, that name one of the conversations and, under one of the names
    in `models`, the model that answered."""
    asked: dict[str, str | int | Sequence[str] | Sequence[int]] = {
        "tenant": tenant,
        "minutes": minutes,
        "conversations": conversations,
        "models": models,
    }
    return parse_logs(store.query(load("read_strays"), asked, output_format=ROWS_FORMAT))


def span_pages(
    fetch: Fetch, tenant: str, trace_ids: Sequence[str], most: int = PAGE_SPANS
) -> Iterator[bytes]:
    """Yield the rows of `read_spans` as the engine writes them, for `parse_spans` in any process.

    A page holds `most` rows and the other variants of its last span. Each is asked for when it is wanted, so what
    arrives between two may be in the later one only.

    Raises OutOfMemory when the engine has not the memory for the smallest page.
    """
    after: tuple[str, str] | None = ("", "")
    while trace_ids and after is not None:
        try:
            page = fetch(
                load("read_spans"),
                {
                    "tenant": tenant,
                    "trace_ids": trace_ids,
                    "after_trace": after[0],
                    "after_span": after[1],
                    "most": most,
                },
            )
        except OutOfMemory:
            if most <= LEAST_PAGE_SPANS:
                raise
            most = max(LEAST_PAGE_SPANS, most // 8)
            continue
        after = _last_span(page) if page.count(b"\n") >= most else None
        yield page


def log_rows(fetch: Fetch, tenant: str, trace_ids: Sequence[str]) -> bytes:
    """Return the rows of `read_logs` as the engine writes them, for `parse_logs` in any process."""
    if not trace_ids:
        return b""
    return fetch(load("read_logs"), {"tenant": tenant, "trace_ids": trace_ids})


def store_fetch(store: Store) -> Fetch:
    """Ask a warehouse that is at hand."""
    return lambda statement, parameters: store.query(statement, parameters, output_format=ROWS_FORMAT)


def parse_spans(data: bytes) -> list[RawSpan]:
    """Return the raw spans in a page of `span_pages`."""
    spans: list[RawSpan] = []
    for row in read_rows(data):
        span = RawSpan(*row)
        span.content_hash = int(row[3])
        span.attributes = _triples(row[15])
        span.events = _events(row[17])
        span.links = _links(row[19])
        span.resource_attributes = _triples(row[21])
        span.scope_attributes = _triples(row[26])
        spans.append(span)
    # The engine sorts by the key alone, which its rows are in.
    spans.sort(key=lambda span: (span.trace_id, span.span_id, span.sequence, span.content_hash))
    return spans


def parse_logs(data: bytes) -> list[RawLog]:
    """Return the raw log records in what `log_rows` returned."""
    logs: list[RawLog] = []
    for row in read_rows(data):
        log = RawLog(*row)
        log.content_hash = int(row[3])
        log.body = (row[11][0], row[11][1])
        log.attributes = _triples(row[12])
        log.resource_attributes = _triples(row[15])
        log.scope_attributes = _triples(row[20])
        logs.append(log)
    return logs


def _last_span(page: bytes) -> tuple[str, str]:
    line = page[page.rstrip(b"\n").rfind(b"\n") + 1 :]
    _, trace_id, span_id, *_ = json.loads(line.decode("utf-8", "surrogateescape"))
    return trace_id, span_id


def _triples(items: list[list[str]]) -> list[Triple]:
    # Every span has the same keys: kept once.
    return [(intern(key), kind, value) for key, kind, value in items]


def _events(items: list[Any]) -> list[Event]:
    return [(at, name, _triples(attributes), dropped) for at, name, attributes, dropped in items]


def _links(items: list[Any]) -> list[Link]:
    return [
        (trace_id, span_id, trace_state, flags, _triples(attributes), dropped)
        for trace_id, span_id, trace_state, flags, attributes, dropped in items
    ]
