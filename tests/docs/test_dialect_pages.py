"""The pages of the dialects are those that the modules give, and say what is in recorded traffic."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from docs.dialect_pages import BY_HAND, FOLDER, pages
from fix_recordings import Recording
from spans import spans_of_requests

from retrospan.ingest.interpret.dialects import DIALECTS, dialect_of
from retrospan.ingest.interpret.dialects.dialect import Dialect
from retrospan.ingest.interpret.spans.span import Span


def test_the_pages_are_those_of_the_modules() -> None:
    written = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.md")}
    del written[BY_HAND]
    assert written == pages(), "run tests/docs/dialect_pages.py to renew the pages"


def test_the_folder_lists_every_page() -> None:
    listed = re.findall(r"\]\(([\w.]+\.md)\)", (FOLDER / BY_HAND).read_text(encoding="utf-8"))
    assert set(listed) == set(pages())


@pytest.fixture(scope="module")
def recorded(recordings: dict[str, Recording]) -> dict[str, set[str]]:
    """What is on recorded spans, by dialect, as the pages name it. Numbers inside a name are N."""
    found: dict[str, set[str]] = {dialect.name: set() for dialect in DIALECTS}
    for recording in recordings.values():
        for span in spans_of_requests(recording.traces, recording.logs):
            if dialect := dialect_of(span):
                found[dialect.name].update(places(span))
    return found


def places(span: Span) -> Iterator[str]:
    yield from (re.sub(r"\.\d+\.", ".N.", key) for key in span.attributes)
    yield from (f"event {event.name}" for event in span.events)
    yield from (f"log record {record.event}" for record in span.logs)
    if span.status == "error":
        yield "the span's status"
    if any(event.name == "exception" for event in span.events):
        yield "the event exception"


@pytest.mark.parametrize(
    "dialect", [each for each in DIALECTS if each.page.is_recorded], ids=lambda dialect: dialect.name
)
def test_each_place_of_a_page_is_in_recorded_traffic(dialect: Dialect, recorded: dict[str, set[str]]) -> None:
    named = [place for source in dialect.page.sources for place in source.places]
    assert len(named) > 8
    for place in named:
        stem = place.removesuffix("*")
        assert any(
            found.startswith(stem) if place.endswith("*") else found == place
            for found in recorded[dialect.name]
        ), place
