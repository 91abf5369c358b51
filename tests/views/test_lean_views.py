"""Views read without their payload: the same rows, and only where no payload can be meant."""

from __future__ import annotations

import pytest
from story import Story, calls, text

from retrospan.ingest.answer.rewriting.lean_views import lean
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.queries import catalogue

PAYLOAD = {
    "steps": {"state_before", "state_after"},
    "model_calls": {"system_instructions", "input_messages", "output_messages", "tool_definitions"},
}


@pytest.fixture(scope="module")
def told(module_views: EmbeddedStore) -> EmbeddedStore:
    for run_id in ("r", "s"):
        story = Story(run_id)
        story.hear(text("user", "x"))
        story.model(calls("search", q=run_id))
        story.tool("search", {"q": run_id}, [])
        story.model(text("assistant", "done"))
        story.state(1, city="Oslo")
        story.tell(module_views)
    return module_views


@pytest.mark.parametrize("name", ["steps", "model_calls"])
def test_every_column_but_the_payload_is_the_same(told: EmbeddedStore, name: str) -> None:
    columns = [column.name for column in catalogue.load(name).columns if column.name not in PAYLOAD[name]]
    query = f"SELECT {', '.join(columns)} FROM {name} ORDER BY ALL"
    read = lean(query)
    assert "canon_values" not in read and f"canon_{name}" in read
    assert "canon_values" in catalogue.load(name).statement
    rows = told.rows(query)
    assert len(rows) > 2 and told.rows(read) == rows
    for column in PAYLOAD[name]:
        asks = f"SELECT {column} FROM {name}"
        assert lean(asks) == asks


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) AS n FROM steps",
        "SELECT a.step FROM steps AS a JOIN model_calls AS m ON m.run_id = a.run_id AND m.step = a.step ORDER BY ALL",
        "SELECT steps.step FROM steps WHERE steps.run_id = 'r' ORDER BY steps.step",
        "SELECT step FROM steps s WHERE s.run_id = 'r' ORDER BY s.step",
        "SELECT n FROM (SELECT run_id, count() AS n FROM model_calls GROUP BY run_id) ORDER BY n",
        "SELECT run_id FROM runs WHERE run_id IN (SELECT run_id FROM steps) AND steps > 1 ORDER BY run_id",
    ],
)
def test_the_rows_are_those_of_the_view(told: EmbeddedStore, query: str) -> None:
    assert lean(query) != query
    rows = told.rows(query)
    assert rows and told.rows(lean(query)) == rows


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM steps",
        "SELECT s.* FROM steps AS s",
        "SELECT 2 * step FROM steps",
        "SELECT COLUMNS('state') FROM steps",
        "SELECT {c:Identifier} FROM steps",
        "SELECT step FROM steps WHERE `state_after` != ''",
        'SELECT "state_after" FROM steps',
        "WITH steps AS (SELECT 1 AS step) SELECT step FROM steps",
        "SELECT step FROM retrospan.steps",
        "SELECT step FROM steps FINAL",
        "SELECT extract(YEAR FROM steps) FROM runs",
        "SELECT 'FROM steps'",
        "EXPLAIN SELECT step FROM steps",
        "SELECT name FROM tool_calls",
        "",
    ],
)
def test_all_else_is_left_as_it_is(query: str) -> None:
    assert lean(query) == query
