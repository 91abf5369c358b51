"""`retrospan diff --baseline --candidate`: runs that were asked the same, in pairs, and what many pairs say together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fix_cli import Ask, asking, serving

_SIDES = ("diff", "--baseline", "version=1", "--candidate", "version=2", "--pairs", "20")


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("pairs"), "--pairs") as url:
        yield url


@pytest.fixture
def ask(versions: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    return asking(versions, monkeypatch, capsys)


def _told(ask: Ask, *words: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in ask(*words, "--json").lines:
        row = json.loads(line)
        found.setdefault(row["part"], []).append(row)
    return found


@pytest.mark.long
def test_what_differs_beyond_chance_is_told_apart_from_what_always_does(ask: Ask) -> None:
    told = _told(ask, *_SIDES)
    (sides,) = told["sides"]
    assert (sides["verdict"], sides["baseline_n"], sides["candidate_n"]) == ("differ", 40, 41)
    assert (sides["compared"], sides["possible"], sides["compared_within"]) == (20, 40, 20)
    causes = {row["cause"]: row for row in told["cause"]}
    assert causes.keys() == {"tool_result", "sampling"}
    assert causes["tool_result"]["within"] == 0 and causes["tool_result"]["p_value"] < 0.001
    assert causes["sampling"]["p_value"] > 0.01
    assert all(len(row["examples"]) <= 3 for row in told["cause"])
    differing = [row for row in told["pair"] if row["outcome"] not in (None, "identical")]
    across = [row for row in differing if row["sides"] == "across"]
    assert causes["tool_result"]["pairs"] + causes["sampling"]["pairs"] == len(across) == sides["pairs"]
    # A tool's result is of step 2, what was answered to it of step 3.
    assert {(row["outcome"], row["step_a"]) for row in differing} == {("tool_result", 2), ("sampling", 3)}
    assert {row["step"]: row["pairs"] for row in told["step"]}[2] == causes["tool_result"]["pairs"]
    assert all(row["other_version"] for row in across)


def test_the_text_has_the_verdict_the_causes_the_steps_and_what_is_not_known(ask: Ask) -> None:
    said = ask(*_SIDES, "--exit-code")
    assert said.code == 1
    assert said.lines[0].startswith("The sides differ beyond chance in tool_result: ")
    assert "20 pairs compared of 40 with the same input (40 runs of the baseline, 41 of the" in said.out
    [cause] = [line for line in said.lines if line.startswith("tool_result")]
    assert "0 of 20" in cause
    assert [line.split()[:3] for line in said.lines if line.startswith("step 2")] != []
    assert "1 run of the candidate without a run of the baseline that was asked the same" in said.err
    assert "the version differs too" in said.err


def test_a_side_beside_its_like_differs_no_more_than_its_own_runs(ask: Ask) -> None:
    half = "2026-05-28T20:46:30Z"
    said = ask("diff", "--baseline", f"..{half},version=1", "--candidate", f"{half}..,version=1", "--json")
    sides = json.loads(said.lines[0])
    assert (sides["baseline_n"], sides["candidate_n"]) == (20, 20)
    assert (sides["verdict"], sides["compared"], sides["lacking_within"]) == ("inconclusive", 20, 12)


@pytest.mark.long
def test_too_few_pairs_give_no_verdict_and_say_how_many_are_lacking(ask: Ask) -> None:
    few = ("diff", "--baseline", "version=1", "--candidate", "version=3", "--exit-code")
    said = ask(*few)
    assert said.code == 2
    assert said.lines[0] == (
        "INCONCLUSIVE: 20 pairs of each kind are needed, of runs that were asked the same: 15 more pairs of the two sides."
    )
    assert (
        ask(*few, "--pairs", "3")
        .lines[0]
        .endswith("17 more pairs within the baseline. --pairs compares more.")
    )
    (sides,) = _told(ask, *few)["sides"]
    assert (sides["lacking"], sides["lacking_within"], sides["p_value"]) == (15, 0, None)
    nobody = ask("diff", "--baseline", "version=8", "--candidate", "version=9")
    assert nobody.lines[0].startswith("INCONCLUSIVE") and "(0 runs of the baseline, 0 of the" in nobody.out


def test_fewer_pairs_are_compared_where_fewer_are_asked_for(ask: Ask) -> None:
    (sides,) = _told(ask, *_SIDES[:-1], "4")["sides"]
    assert (sides["compared"], sides["compared_within"], sides["possible"]) == (4, 4, 40)


def test_the_sql_of_it_is_printed(ask: Ask) -> None:
    said = ask(*_SIDES, "--sql", "--agent", "it's")
    assert "FROM run_pairs(" in said.out and "FROM run_divergence(a = '…', b = '…')" in said.out
    assert "agent = 'it\\'s'" in said.out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--baseline", "version=1"], "--candidate is missing"),
        (["--candidate", "version=1"], "--baseline is missing"),
        (["last", "--baseline", "version=1", "--candidate", "version=2"], "say what to compare"),
        (["--baseline", "version=1", "--candidate", "version=2", "--full"], "--full is of two runs"),
        (["last", "last", "--agent", "x"], "--agent is of two sides"),
        (["--baseline", "version=1", "--candidate", "version=2", "--pairs", "501"], "--pairs"),
        ([], "RUN_A is missing"),
    ],
)
def test_two_runs_and_two_sides_are_two_ways(ask: Ask, words: list[str], why: str) -> None:
    said = ask("diff", *words)
    assert said.code == 2 and why in said.err
