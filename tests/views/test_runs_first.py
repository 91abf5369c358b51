"""Lists of whole steps, model calls and messages: read of few runs, with the rows of the view."""

from __future__ import annotations

import pytest
from story import Story, calls, tell, text

from retrospan.ingest.answer.rewriting.runs_first import runs_first
from retrospan.ingest.warehouse.embedded import EmbeddedStore


@pytest.fixture(scope="module")
def told(module_views: EmbeddedStore) -> EmbeddedStore:
    stories: list[Story] = []
    for number in range(5):
        story = Story(f"run-{number}")
        story.hear(text("user", f"question {number}"))
        story.model(calls("search", q=number))
        story.tool("search", {"q": number}, [number])
        story.model(text("assistant", f"answer {number}"))
        story.state(1, city=f"city {number}")
        stories.append(story)
    tell(module_views, *stories)
    # Runs that were read again, and one that is gone: of their former readings nothing may be shown or counted.
    module_views.command(
        "INSERT INTO canon_runs SELECT * REPLACE (generation + 1 AS generation, run_id = 'run-4' AS deleted)"
        " FROM canon_runs WHERE run_id IN ('run-3', 'run-4')"
    )
    return module_views


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM steps ORDER BY run_id, step LIMIT 4",
        "SELECT * FROM steps WHERE step_kind = 'model' ORDER BY started_at DESC, run_id, step LIMIT 3",
        "SELECT step, state_before FROM steps WHERE step = 1 OR step = 2 ORDER BY step DESC, run_id LIMIT 2 OFFSET 1",
        "SELECT * FROM model_calls ORDER BY run_id DESC, ordinal ASC LIMIT 3 OFFSET 1",
        "select `output_messages`, ordinal from model_calls where ordinal > 1 order by run_id limit 2",
        "SELECT input_messages FROM model_calls WHERE NOT (status = 'error') ORDER BY run_id, ordinal LIMIT 100",
        "SELECT * FROM model_calls WHERE agent_name = 'nobody' LIMIT 10",
    ],
)
def test_ordered_rows_are_those_of_the_view(told: EmbeddedStore, query: str) -> None:
    read = runs_first(query)
    assert read != query
    assert told.rows(read) == told.rows(query)


@pytest.mark.parametrize("view", ["steps", "model_calls", "messages"])
@pytest.mark.parametrize("limit", ["1", "2", "4 OFFSET 2", "1000"])
def test_any_rows_are_rows_of_the_view_and_as_many(told: EmbeddedStore, view: str, limit: str) -> None:
    query = f"SELECT * FROM {view} LIMIT {limit}"
    read = runs_first(query)
    assert read != query
    every = [repr(row) for row in told.rows(f"SELECT * FROM {view}")]
    rows = [repr(row) for row in told.rows(read)]
    assert len(rows) == len(told.rows(query))
    assert len({*rows}) == len(rows) and {*rows} <= {*every}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM steps",
        "SELECT step FROM steps LIMIT 10",
        "SELECT * FROM steps WHERE run_id = 'run-1' LIMIT 10",
        "SELECT * FROM steps WHERE state_after LIKE '%city%' LIMIT 10",
        "SELECT * FROM steps ORDER BY length(name) LIMIT 10",
        "SELECT * FROM steps LIMIT 1001",
        "SELECT * FROM steps LIMIT {n:UInt32}",
        "SELECT *, 1 FROM steps LIMIT 10",
        "SELECT DISTINCT * FROM steps LIMIT 10",
        "SELECT * FROM steps LIMIT 1 BY run_id",
        "SELECT * FROM steps AS s LIMIT 10",
        "SELECT * FROM steps WHERE step IN (SELECT step FROM steps) LIMIT 10",
        "SELECT * FROM messages WHERE role = 'user' LIMIT 10",
        "SELECT * FROM messages ORDER BY position LIMIT 10",
        "SELECT run_id FROM messages LIMIT 10",
        "SELECT * FROM runs LIMIT 10",
        "WITH 1 AS x SELECT * FROM steps LIMIT 10",
        "",
    ],
)
def test_anything_else_stays(query: str) -> None:
    assert runs_first(query) == query
