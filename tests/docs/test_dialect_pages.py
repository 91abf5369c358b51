"""There is a page for each dialect, its switches are those of the code, and its fields are in recorded traffic."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from docs.dialect_pages import FOLDER, LISTING, UNRECORDED, places, switches, switches_of, text_of
from fix_recordings import Recording, taken
from spans import spans_of_requests

from retrospan.ingest.interpret.dialects import DIALECTS, dialect_of
from retrospan.ingest.interpret.dialects.dialect import Dialect
from retrospan.ingest.interpret.spans.span import Span

PAGES = {f"{dialect.name}.md" for dialect in DIALECTS}
every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


def test_each_dialect_has_a_page_that_the_folder_lists() -> None:
    assert {file.name for file in FOLDER.glob("*.md")} == {*PAGES, LISTING.name}
    listed = re.findall(r"\]\(([\w.]+\.md)\)", LISTING.read_text(encoding="utf-8"))
    assert set(listed) == PAGES


@every_dialect
def test_a_page_names_its_dialect_and_module_and_its_switches(dialect: Dialect) -> None:
    text = text_of(dialect)
    module = dialect.speaks.__module__.removeprefix("retrospan.ingest.interpret.").replace(".", "/")
    assert f"`spans.dialect` is `{dialect.name}`." in text
    assert f"../../ingest/retrospan/ingest/interpret/{module}.py" in text
    assert switches(text) == switches_of(dialect), "run tests/docs/dialect_pages.py to renew the table"


@pytest.fixture(scope="module")
def recorded(recordings: dict[str, Recording]) -> dict[str, set[str]]:
    """What is on recorded spans, by dialect, as the pages name it. Numbers inside a name are N."""
    found: dict[str, set[str]] = {dialect.name: set() for dialect in DIALECTS}
    # These two are only among the recordings that were made with the kit.
    kit = [r for name, r in taken().items() if name.startswith(("spring-ai", "openai-langwatch"))]
    for recording in (*recordings.values(), *kit):
        for span in spans_of_requests(recording.traces, recording.logs):
            if dialect := dialect_of(span):
                found[dialect.name].update(on_span(span))
    return found


def on_span(span: Span) -> Iterator[str]:
    yield from (re.sub(r"\.\d+\.", ".N.", key) for key in span.attributes)
    yield from (f"event {event.name}" for event in span.events)
    yield from (f"log record {record.event}" for record in span.logs)
    if span.status == "error":
        yield "the span's status"
    if any(event.name == "exception" for event in span.events):
        yield "the event exception"


@every_dialect
def test_each_place_of_a_page_is_in_recorded_traffic(dialect: Dialect, recorded: dict[str, set[str]]) -> None:
    named = places(dialect)
    if UNRECORDED in text_of(dialect):
        assert named and not recorded[dialect.name]
        return
    assert len(named) > 8
    for place in named:
        stem = place.removesuffix("*")
        assert any(
            found.startswith(stem) if place.endswith("*") else found == place
            for found in recorded[dialect.name]
        ), place
