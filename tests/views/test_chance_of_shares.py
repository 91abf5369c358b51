"""That two shares differ by chance: exactly, so that a small canary is not told to have drifted by two runs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from populations import Kind, made, write
from story import Ask
from views.test_drift import compare, drifted

from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.ingest.why.sides.pairs import chance_of

#: Of how many runs of a side how many have it, on both sides.
COUNTS = (
    (0, 20, 0, 2000), (20, 20, 2000, 2000), (0, 20, 2000, 2000), (2, 20, 20, 2000), (3, 20, 6, 400), (1, 1, 0, 1),
    (5, 40, 5, 40), (37, 300, 251, 2000), (150, 300, 1000, 2000), (0, 50, 900, 2000), (299, 300, 1990, 2000),
)  # fmt: skip


def test_the_engine_computes_the_chance_of_shares_as_counting_every_way_does(
    views: EmbeddedStore, ask: Ask
) -> None:
    for found, runs, other_found, other_runs in COUNTS:
        asked = f"SELECT retrospan_chance_of_shares({found}, {runs}, {other_found}, {other_runs}) AS chance"
        [row] = ask(asked)
        assert row["chance"] == pytest.approx(chance_of((found, other_found), (runs, other_runs)), rel=1e-9)


def test_shares_of_more_runs_than_can_be_counted_through_have_a_chance_too(
    views: EmbeddedStore, ask: Ask
) -> None:
    [row] = ask("SELECT retrospan_chance_of_shares(2000000, 4000000, 3001000, 6000000) AS chance")
    assert row["chance"] == pytest.approx(0.606, abs=0.001), "as the normal distribution says of so many"


def test_three_failures_of_a_small_canary_are_no_drift(views: EmbeddedStore, ask: Ask) -> None:
    # By the normal distribution 3 of 20 against 6 of 400 are four deviations away, and drifted; by chance it is 1 of 140.
    kind = Kind(failing=0, looping=0)
    baseline, candidate = (made(seed, size, kind) for seed, size in (("before", 400), ("after", 20)))
    baseline[:6] = [replace(run, outcome="error", loops=True) for run in baseline[:6]]
    candidate[:3] = [replace(run, outcome="error", loops=True) for run in candidate[:3]]
    found = compare(views, ask, baseline, candidate)
    for metric in ("failure_rate", "loop_rate"):
        row = found[metric, "proportions_z"]
        assert row["value"] > 4 and row["p_value"] > 0.007
    assert drifted(found) == set()
    candidate[:10] = [replace(run, outcome="error", loops=True) for run in candidate[:10]]
    write(views, "other", "a", baseline)
    write(views, "other", "b", candidate)
    rows = ask(
        "SELECT metric, drifted FROM drift(baseline_from = '', baseline_to = '', baseline_version = 'a', "
        "candidate_from = '', candidate_to = '', candidate_version = 'b', agent = '') WHERE tenant = 'other'"
    )
    assert {row["metric"] for row in rows if row["drifted"]} >= {"failure_rate", "loop_rate"}
