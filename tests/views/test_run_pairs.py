"""`run_pairs` chooses runs of two sides that were asked the same, and says of how many."""

from __future__ import annotations

from typing import Any

import pytest
from story import SECOND, START, Ask, Story, tell, text

from retrospan.ingest.warehouse.embedded import EmbeddedStore

_ASK = (
    "SELECT * FROM run_pairs(baseline_from = '', baseline_to = '', baseline_version = {baseline:String}, "
    "candidate_from = '', candidate_to = '', candidate_version = {candidate:String}, agent = {agent:String}, "
    "most = {most:UInt32})"
)


def run(version: str, number: int, asked: str | None = "ship O-77?", **said: Any) -> Story:
    """Return a run of a version; a later number began later."""
    story = Story(f"{version}-{number}", version=version, started_at=START + number * SECOND * 60, **said)
    if asked is not None:
        story.hear(text("user", asked))
        story.model(text("assistant", "Done."))
    return story


def pairs(ask: Ask, most: int = 10, **given: str) -> list[dict[str, Any]]:
    return ask(_ASK, **{"baseline": "a", "candidate": "b", "agent": "", "most": most, **given})


def across(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(row["run_a"], row["run_b"]) for row in rows if row["sides"] == "across"]


def test_the_newest_run_of_an_input_goes_with_the_newest_of_the_other_side(
    views: EmbeddedStore, ask: Ask
) -> None:
    tell(views, *(run("a", n) for n in range(3)), *(run("b", n) for n in range(2)))
    tell(views, run("b", 7, "something else"))
    rows = pairs(ask)
    assert across(rows) == [("a-2", "b-1"), ("a-1", "b-0")]
    assert [(r["run_a"], r["run_b"]) for r in rows if r["sides"] == "within"] == [("a-1", "a-2")]
    assert {(r["sides"], int(r["possible"])) for r in rows} == {("across", 2), ("within", 1)}
    assert {(int(r["baseline_n"]), int(r["candidate_n"])) for r in rows} == {(3, 3)}


def test_inputs_that_differ_in_an_id_only_are_the_same(views: EmbeddedStore, ask: Ask) -> None:
    first, second = "0d9c6f0e-8f7a-4c4e-9d57-6f0e8f7a4c4e", "3b1f2c4d-1111-4222-8333-944445555666"
    tell(views, run("a", 1, f"look at ticket {first}"), run("b", 1, f"look at ticket {second}"))
    assert across(pairs(ask)) == [("a-1", "b-1")]


def test_of_many_pairs_each_input_comes_before_a_second_of_any(views: EmbeddedStore, ask: Ask) -> None:
    for version in ("a", "b"):
        tell(views, *(run(version, n, f"question {'xyz'[n % 3]}") for n in range(9)))
    rows = [row for row in pairs(ask, most=3) if row["sides"] == "across"]
    assert len({run_id[-1] for run_id, _ in across(rows)}) == 3
    assert {int(row["possible"]) for row in rows} == {9}
    assert {int(row["run_a"][-1]) % 3 for row in rows} == {0, 1, 2}
    assert across(rows) == across(pairs(ask, most=3))


def test_a_run_is_never_paired_with_itself(views: EmbeddedStore, ask: Ask) -> None:
    tell(views, run("a", 1), run("b", 1), run("b", 2))
    rows = pairs(ask, baseline="", candidate="b")
    assert across(rows) == [("a-1", "b-2")]
    assert {(int(r["baseline_n"]), int(r["candidate_n"])) for r in rows} == {(1, 2)}


@pytest.mark.parametrize("asked", [None, "of another"])
def test_where_there_is_no_pair_one_row_says_how_many_runs_there_are(
    views: EmbeddedStore, ask: Ask, asked: str | None
) -> None:
    tell(views, run("a", 1), run("b", 1, asked))
    (row,) = pairs(ask)
    assert (row["sides"], row["run_a"], row["run_b"], int(row["possible"])) == ("none", None, None, 0)
    assert (int(row["baseline_n"]), int(row["candidate_n"])) == (1, 1)
    assert (int(row["baseline_unknown"]), int(row["candidate_unknown"])) == (0, int(asked is None))


def test_no_runs_have_no_row(views: EmbeddedStore, ask: Ask) -> None:
    assert pairs(ask) == []


def test_tenants_and_agents_are_compared_by_themselves(views: EmbeddedStore, ask: Ask) -> None:
    tell(views, run("a", 1), run("b", 1, tenant="other"), run("b", 2, agent="another"))
    assert {(row["tenant"], row["sides"]) for row in pairs(ask, agent="orla")} == {
        ("default", "none"),
        ("other", "none"),
    }
    assert across(pairs(ask)) == [("a-1", "b-2")]
