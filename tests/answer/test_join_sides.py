"""Statements over views that put values on the left of a join are read with the sides as they are written."""

from __future__ import annotations

import pytest

from retrospan.ingest.answer.rewriting.join_sides import KEPT, keeping_sides, sided
from retrospan.queries import catalogue


def test_the_views_with_values_on_the_left_are_known() -> None:
    by_text = {view.name for view in catalogue.views() if "RIGHT JOIN" in view.statement}
    assert {"steps", "model_calls", "run_state"} <= by_text <= sided()
    assert "runs" not in sided(), "a view with a column of such a name reads none of them"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM steps",
        "select s.state_before from retrospan.steps AS s",
        "SELECT 1 FROM runs AS r JOIN model_calls AS m USING (run_id)",
        "SELECT key FROM run_state(run_id = 'r', step = 3)",
        "SELECT count() FROM (SELECT run_id FROM `prompt_shares`)",
    ],
)
def test_sides_are_kept_of_what_reads_such_a_view(query: str) -> None:
    assert keeping_sides(query) == KEPT


@pytest.mark.parametrize(
    "query", ["SELECT steps, model_calls FROM runs", "SELECT 'FROM steps'", "SELECT 1", "SELECT * FROM spans"]
)
def test_any_other_join_is_the_engine_s_to_order(query: str) -> None:
    assert keeping_sides(query) == {}
