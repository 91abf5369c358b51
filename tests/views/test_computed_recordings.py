"""Computed views over recordings: the rows of the view, whatever lies beside them in the tables.

Beside the rows that readers see lie those of generations before and of one that is being written, and runs that were
deleted: none of them may come into an answer.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import pytest
from recordings.kept_rows import RULES, cases
from spans import rows_of_spans

from retrospan.ingest.answer.computed.given_rows import COMPUTED, given_rows
from retrospan.ingest.answer.rewriting.inlining import inlined, placed
from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.service.dispatch import write_rows
from retrospan.ingest.warehouse.embedded import EmbeddedStore

_WALKS, _PAIRS = 60, 5
_WALK = "SELECT * FROM provenance(ref = {ref:String}, depth = {depth:UInt32}, direction = {way:String}) ORDER BY ALL"
_DIFF = "SELECT * FROM run_diff(a = {a:String}, b = {b:String}) ORDER BY ALL"
_DIVERGENCE = "SELECT * FROM run_divergence(a = {a:String}, b = {b:String}) ORDER BY ALL"


def _told(store: EmbeddedStore, dice: random.Random, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Write the runs of these recordings; returns their ids, and those of runs that were deleted."""
    made = cases()
    every, deleted = Rows(), Rows()
    ids: list[str] = []
    gone: list[str] = []
    for name in names:
        for rows in rows_of_spans(made[name](), RULES):
            (run,) = rows.runs
            if run.run_id in ids or run.run_id in gone:
                continue
            _add(every, rows, 5)
            if dice.random() < 0.3:  # an earlier reading, of which not all has been taken away
                _add(every, rows, 4, dice, 0.5)
            if dice.random() < 0.3:  # one that is being written: its row of the run is not there yet
                _add(every, replace(rows, runs=[]), 9, dice, 0.5)
            if dice.random() < 0.15:
                deleted.runs.append(replace(run, generation=7, deleted=True))
                gone.append(run.run_id)
            else:
                ids.append(run.run_id)
    write_rows(store, every)
    write_rows(store, deleted)
    return ids, gone


def _add(
    to: Rows, rows: Rows, generation: int, dice: random.Random | None = None, share: float = 1.0
) -> None:
    for each in fields(Rows):
        of_table: list[Any] = getattr(to, each.name)
        for row in getattr(rows, each.name):
            if dice is None or dice.random() < share:
                of_table.append(replace(row, generation=generation))


def _both(store: EmbeddedStore, sql: str, given: dict[str, Any]) -> tuple[Any, Any]:
    """Return what the port computes and what the view says."""
    statement, of_views = placed(sql, COMPUTED)
    assert of_views and "canon_" not in statement
    computed = store.rows(statement, {**given, **given_rows(store, of_views, given)})
    return computed, store.rows(inlined(sql), given)


@pytest.mark.soak
def test_recorded_runs_are_answered_as_the_views_do(views: EmbeddedStore) -> None:
    dice = random.Random(16)
    names = [name for name in cases() if "~" not in name and "+" not in name]
    names += [f"stated~{number}" for number in range(1, 41)]
    ids, gone = _told(views, dice, names)
    named = [str(row[0]) for row in views.rows("SELECT DISTINCT reference FROM canon_crossings ORDER BY ALL")]
    messages = [
        f"message:{row[0]}" for row in views.rows("SELECT DISTINCT hash FROM canon_values ORDER BY ALL")
    ]
    spans = [
        f"span:{row[0]}/{row[1]}"
        for row in views.rows("SELECT DISTINCT trace_id, span_id FROM canon_steps ORDER BY ALL")
    ]
    filled = 0
    for turn in range(_WALKS):
        ref = dice.choice([f"run:{dice.choice(ids)}", dice.choice(dice.choice([named, messages, spans]))])
        if turn == _WALKS - 1 and gone:
            ref = f"run:{gone[0]}"
        given = {"ref": ref, "depth": dice.choice([1, 3, 20]), "way": dice.choice(["up", "up", "down"])}
        computed, said = _both(views, _WALK, given)
        assert computed == said, given
        filled += len(said) > 1
    assert filled >= _WALKS / 5
    for turn in range(_PAIRS):
        given = {"a": dice.choice(ids), "b": dice.choice([*ids[:20], *gone] if turn % 4 == 0 else ids)}
        for sql in (_DIFF, _DIVERGENCE):
            computed, said = _both(views, sql, given)
            assert computed == said, given
