"""Questions that read the tables behind a view by their keys: over every recording, the rows that the view gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fix_recordings import load_recording, manifest
from spans import rows_of_recording

from retrospan.ingest.cli.client.questions import statement
from retrospan.ingest.interpret.service.dispatch import write_rows
from retrospan.ingest.warehouse.embedded import EmbeddedStore

#: A recording of each family is enough for every day; all of them are read in long runs.
SOME = sorted({name.partition("/")[0]: name for name in sorted(manifest())}.values())[::12]
REST = sorted({*manifest()} - {*SOME})


def _told(store: EmbeddedStore, names: list[str]) -> list[str]:
    runs: list[str] = []
    for name in names:
        for rows in rows_of_recording(load_recording(name)):
            write_rows(store, rows)
            runs += [run.run_id for run in rows.runs]
    return runs


@pytest.fixture(scope="module")
def told(module_views: EmbeddedStore) -> Iterator[list[str]]:
    yield _told(module_views, SOME)


def _missing(store: EmbeddedStore, runs: list[str]) -> None:
    outcomes = {str(run_id): str(said) for run_id, said in store.rows("SELECT run_id, outcome FROM runs")}
    found: list[tuple[list[list[object]], list[list[object]]]] = []
    for run_id in runs:
        of_run: dict[str, str] = {"run_id": run_id}
        of_view = store.rows(statement("why_missing"), of_run)
        found.append(
            (of_view, store.rows(statement("missing_of_run"), {**of_run, "outcome": outcomes[run_id]}))
        )
    assert all(of_view == by_key for of_view, by_key in found)
    assert all(of_view for of_view, _ in found)


def test_what_is_missing_of_some_recordings(told: list[str], module_views: EmbeddedStore) -> None:
    _missing(module_views, told)


COSTS = """
SELECT
    r.run_id AS run_id, r.cost AS cost, r.currency AS currency, r.cost_unknown AS cost_unknown,
    r.model_calls AS model_calls, s.calls AS stated_calls, s.stated AS stated
FROM (SELECT run_id, cost, currency, cost_unknown, model_calls FROM runs WHERE run_id = {run_id:String}) AS r
CROSS JOIN
(
    SELECT sum(calls) AS calls, groupArray(concat(toString(amount), ' ', coin)) AS stated
    FROM
    (
        SELECT ifNull(toString(stated_currency), '') AS coin, sum(stated_cost) AS amount, count() AS calls
        FROM model_calls
        WHERE run_id = {run_id:String} AND isNotNull(stated_cost)
        GROUP BY coin
        ORDER BY coin
    )
) AS s
"""


def _costs(store: EmbeddedStore, runs: list[str]) -> None:
    for run_id in runs:
        of_run: dict[str, str] = {"run_id": run_id}
        (by_key,) = store.rows(statement("cost_stated"), of_run)
        assert store.rows(COSTS, of_run) == [by_key]


def test_the_stated_cost_of_some_recordings(told: list[str], module_views: EmbeddedStore) -> None:
    _costs(module_views, told)


def _settled(store: EmbeddedStore, runs: list[str]) -> int:
    """Compare every run that is settled with the view; return how many are."""
    whole = "SELECT *, toTypeName(tuple(*)) AS types FROM ({})"
    count = 0
    for run_id in runs:
        of_run: dict[str, str] = {"run_id": run_id}
        settled = store.rows(whole.format(statement("settled_run")), of_run)
        of_view = store.rows(whole.format(statement("show_run")), of_run)
        assert settled in ([], of_view)
        assert len(settled) == (of_view[0][14] not in ("incomplete", "running", "lost", "killed"))
        count += len(settled)
    return count


def test_runs_that_are_settled_of_some_recordings(told: list[str], module_views: EmbeddedStore) -> None:
    assert _settled(module_views, told) > len(told) // 2


def test_a_run_with_a_flag_or_a_hold_is_never_settled(told: list[str], module_views: EmbeddedStore) -> None:
    store = module_views
    run_id, other, *_ = told
    store.command(
        "INSERT INTO canon_runs SELECT * REPLACE (['an alias'] AS aliases, generation + 1 AS generation)"
        f" FROM canon_runs FINAL WHERE run_id = '{run_id}'"
    )
    for marked, mark, name in ((run_id, "flag", "an alias"), (other, "hold", other)):
        assert store.rows(statement("settled_run"), {"run_id": marked})
        for is_set in (1, 0):
            store.command(
                "INSERT INTO run_marks (tenant, run_id, mark, at, sequence, is_set) VALUES"
                f" ('default', '{name}', '{mark}', now64(9), {2 - is_set}, {is_set})"
            )
            assert not store.rows(statement("settled_run"), {"run_id": marked}), (mark, is_set)
    store.command("TRUNCATE TABLE run_marks")


@pytest.mark.soak
def test_every_other_recording(told: list[str], module_views: EmbeddedStore) -> None:
    rest = _told(module_views, REST)
    assert _settled(module_views, rest) > len(rest) // 2
    _missing(module_views, rest)
    _costs(module_views, rest)
