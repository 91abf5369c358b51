"""A call of a view answered by its SELECT: the same rows, and only where it is surely the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from story import Story, calls, text

from retrospan.ingest.answer.rewriting.inlining import inlined
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.queries import catalogue

STATE = "run_state(run_id = 'r', step = 1)"


@pytest.fixture(scope="module")
def told(module_views: EmbeddedStore) -> EmbeddedStore:
    views = module_views
    for run_id, query in (("r", "a"), ("s'", "b")):
        story = Story(run_id)
        story.hear(text("user", "x"))
        story.model(calls("search", q=query))
        story.tool("search", {"q": query}, [])
        story.model(text("assistant", "done"))
        story.state(1, city="Oslo")
        story.tell(views)
    return views


def _rows(store: EmbeddedStore, sql: str) -> Sequence[object]:
    return store.rows(sql, {"r": "run:r", "depth": 9, "way": "up"})


@pytest.mark.parametrize(
    ("view", "query"),
    [
        ("run_state", f"SELECT * FROM {STATE}"),
        ("run_state", f"SELECT run_state.key FROM {STATE} WHERE run_state.value != ''"),
        ("run_state", f"SELECT s.key FROM {STATE} AS s ORDER BY s.key LIMIT 1"),
        ("run_state", f"SELECT count() AS n FROM (SELECT key FROM {STATE}) AS k, runs"),
        pytest.param(
            "run_diff",
            "SELECT * FROM run_diff(a = 'r', b = 's\\'') ORDER BY position, aspect",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "run_divergence", "SELECT * FROM run_divergence(b = 's\\'', a = 'r')", marks=pytest.mark.soak
        ),
        (
            "provenance",
            "SELECT * FROM provenance(ref = {r:String}, depth = {depth:Int32}, direction = {way:String}) ORDER BY ALL",
        ),
    ],
)
def test_the_rows_are_those_of_the_view(told: EmbeddedStore, view: str, query: str) -> None:
    in_place = inlined(query)
    assert f"{view}(" not in in_place and catalogue.load(view).statement.splitlines()[-1] in in_place
    rows = _rows(told, query)
    assert rows and _rows(told, in_place) == rows


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1",
        "SELECT 'FROM run_state(run_id = 1, step = 2)'",
        f"WITH runs AS (SELECT 1) SELECT * FROM {STATE}",
        f"EXPLAIN SELECT * FROM {STATE}",
        f"DESCRIBE {STATE}",
        "SELECT * FROM run_state(run_id = concat('r', ''), step = 1)",
        "SELECT * FROM run_state(run_id = 'r', step = -1)",
        "SELECT * FROM run_state(run_id = 'r')",
        "SELECT * FROM run_state(run_id = 'r', step = 1, more = 2)",
        "SELECT * FROM run_state('r', 1)",
        f"SELECT * FROM runs, {STATE}",
        "SELECT * FROM run_state(run_id = 'r', step = 1",
        "SELECT * FROM run_state(",
        "SELECT * FROM runs",
    ],
)
def test_all_else_is_left_as_it_is(query: str) -> None:
    assert inlined(query) == query
