"""`retrospan drift` holds the scores of evaluations of both sides against each other too."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from fix_cli import Ask, asking, serving

_SIDES = ("drift", "--baseline", "version=1", "--candidate", "version=2")


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("scores"), "--pairs") as url:
        yield url


@pytest.fixture
def ask(versions: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    return asking(versions, monkeypatch, capsys)


def test_a_score_that_fell_is_drift(ask: Ask) -> None:
    said = ask(*_SIDES)
    assert said.code == 1
    [fell] = [line for line in said.lines if line.startswith("score: relevance")]
    assert fell.split()[2] == "0.9" and "kolmogorov_smirnov" in fell and "drifted" in fell
    assert "score: checked" not in said.out
    assert "no verdict on 1 score, too few runs have it: score: checked" in said.err
    assert [line.split()[-2:] for line in ask(*_SIDES, "--all").lines if "score: checked" in line] != []


def test_as_json_scores_are_rows_of_their_view(ask: Ask) -> None:
    rows = [json.loads(line) for line in ask(*_SIDES, "--json").lines]
    scores = {row["name"]: row for row in rows if row.get("view") == "score_drift"}
    assert scores.keys() == {"relevance", "checked"}
    assert (scores["relevance"]["baseline_median"], scores["relevance"]["candidate_median"]) == (0.9, 0.4)
    assert (scores["checked"]["p_value"], scores["checked"]["unknown"]) == (None, "too_few_runs")
    assert (scores["checked"]["baseline_n"], scores["checked"]["baseline_runs"]) == (5, 40)


def test_runs_are_chosen_by_their_scores(ask: Ask) -> None:
    worse = "run_id IN (SELECT run_id FROM run_scores WHERE name = 'relevance' AND mean < 0.5)"
    rows = [json.loads(line) for line in ask("runs", "--where", worse, "-n", "100", "--json").lines]
    assert len(rows) == 26 and {row["agent_version"] for row in rows} == {"2"}


def test_the_sql_of_both_views_is_printed(ask: Ask) -> None:
    said = ask(*_SIDES, "--sql")
    assert "FROM drift(" in said.out and "FROM score_drift(" in said.out
