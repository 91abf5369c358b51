"""A run is read page by page: whatever their size, the pages hold what one would, and shrink where memory is short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from otlp_values import Origin, Span, request

from retrospan.ingest.load.batches import token_of
from retrospan.ingest.load.landing import insert_records
from retrospan.ingest.load.raw_row_reader import (
    LEAST_PAGE_SPANS,
    parse_spans,
    read_in_pages,
    span_pages,
    store_fetch,
)
from retrospan.ingest.log.record import encode
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas.errors import OutOfMemory

TRACES = [(bytes([number]) * 16).hex() for number in (7, 3, 5)]
SPANS = 20
Parameters = Mapping[str, str | int | Sequence[str]]


@pytest.fixture
def filled(store: EmbeddedStore) -> EmbeddedStore:
    """Three traces, of which every third span came with three contents."""
    sequence = 0
    for name in (b"first", b"second", b"third"):
        for trace_id in TRACES:
            spans = [
                Span(trace_id=bytes.fromhex(trace_id), span_id=number.to_bytes(8, "big"), name=name)
                for number in range(1, SPANS + 1)
                if name == b"first" or number % 3 == 0
            ]
            sequence += 1
            parts, _ = encode(
                arrived_at=sequence, sequence=sequence, tenant="default", traces=request(Origin(), spans)
            )
            data = b"".join(parts)
            insert_records(store, data, token_of(1, data))
    return store


@pytest.mark.long
def test_pages_of_any_size_hold_what_one_page_holds(filled: EmbeddedStore) -> None:
    whole, number = read_in_pages(filled, "default", TRACES)
    assert number == 1
    assert len(whole) == 3 * (SPANS + 2 * (SPANS // 3))
    for most in (1, 2, 3, 7, 19, 1000):
        pages = [parse_spans(page) for page in span_pages(store_fetch(filled), "default", TRACES, most)]
        assert [span for page in pages for span in page] == whole
        assert len(pages) > 1 or most > len(whole)
        homes = [{(span.trace_id, span.span_id) for span in page} for page in pages]
        assert sum(map(len, homes)) == 3 * SPANS, "all variants of a span are in one page"


def test_pages_shrink_where_the_engine_has_no_memory_for_them(filled: EmbeddedStore) -> None:
    asked: list[int] = []

    def scarce(statement: str, parameters: Parameters) -> bytes:
        most = parameters["most"]
        assert isinstance(most, int)
        asked.append(most)
        if most > room:
            raise OutOfMemory("there is no memory for so many")
        return store_fetch(filled)(statement, parameters)

    room = 100
    pages = [*span_pages(scarce, "default", TRACES)]
    assert asked[0] > 100 >= asked[-1]
    assert [s for page in pages for s in parse_spans(page)] == read_in_pages(filled, "default", TRACES)[0]
    room = LEAST_PAGE_SPANS - 1
    with pytest.raises(OutOfMemory):
        next(span_pages(scarce, "default", TRACES))
