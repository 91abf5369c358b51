"""`run_scores` and `score_drift`: what evaluators said of runs, run by run and side against side."""

from __future__ import annotations

import json
from typing import Any

import pytest
from story import SECOND, START, Ask, Story, tell, text

from retrospan.ingest.warehouse.embedded import EmbeddedStore

_DRIFT = (
    "SELECT * FROM score_drift(baseline_from = '', baseline_to = '', baseline_version = 'a', candidate_from = '', "
    "candidate_to = '', candidate_version = 'b', agent = {agent:String})"
)


def run(version: str, number: int, *said: tuple[str, object], **more: Any) -> Story:
    """Return a run whose answer was judged; each of `said` is a name and a score, or a label, or None."""
    story = Story(f"{version}-{number:03d}", version=version, started_at=START + number * 60 * SECOND, **more)
    story.hear(text("user", "x"))
    story.model(text("assistant", "y"))
    for name, result in said:
        kind = "label" if isinstance(result, str) else "value"
        told = {"gen_ai.evaluation.name": name, f"gen_ai.evaluation.score.{kind}": result}
        story.event(
            "gen_ai.evaluation.result", 1, {key: each for key, each in told.items() if each is not None}
        )
    return story


def drift(ask: Ask, agent: str = "") -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["name"], row["label"]): row for row in ask(_DRIFT, agent=agent)}


def test_a_run_has_a_row_for_each_name(views: EmbeddedStore, ask: Ask) -> None:
    several = (
        ("relevance", 0.2),
        ("relevance", 0.9),
        ("relevance", 1.0),
        ("verdict", "pass"),
        ("broken", None),
    )
    run("a", 1, *several).tell(views)
    run("a", 2).tell(views)
    rows = ask("SELECT * FROM run_scores ORDER BY name")
    assert [(row["run_id"], row["name"], int(row["results"]), int(row["scored"])) for row in rows] == [
        ("a-001", "broken", 1, 0),
        ("a-001", "relevance", 3, 3),
        ("a-001", "verdict", 1, 0),
    ]
    by_name = {row["name"]: row for row in rows}
    assert (by_name["relevance"]["mean"], by_name["relevance"]["median"]) == (pytest.approx(0.7), 0.9)
    assert (by_name["verdict"]["mean"], by_name["verdict"]["unknown"]) == (None, "no_number")
    assert (by_name["broken"]["mean"], by_name["broken"]["unknown"]) == (None, "no_result")
    assert by_name["verdict"]["labels"] == ["pass"]


def test_a_later_reading_of_the_run_with_more_scores_counts_once(views: EmbeddedStore, ask: Ask) -> None:
    run("a", 1, ("relevance", 0.5)).tell(views)
    run("a", 1, ("relevance", 0.5), ("helpful", 1.0), generation=2).tell(views)
    rows = ask("SELECT name, toUInt32(results) AS results, mean FROM run_scores ORDER BY name")
    assert [tuple(row.values()) for row in rows] == [("helpful", 1, 1), ("relevance", 1, 0.5)]


@pytest.mark.parametrize(("runs_of_trace", "judged"), [(["a-001"], "a-001"), (["a-001", "x"], "judge")])
def test_what_another_run_says_of_a_span_is_of_the_run_of_that_span(
    views: EmbeddedStore, ask: Ask, runs_of_trace: list[str], judged: str
) -> None:
    run("a", 1).tell(views)
    Story("judge").tell(views)
    row = {"tenant": "default", "run_id": "judge", "generation": 1, "trace_id": "judge", "span_id": "1"}
    said = {"name": "relevance", "score": 0.25, "judged": f"span:a-001/{1:016x}", "at": "2026-05-29 00:00:00"}
    views.insert("INSERT INTO canon_evaluations", json.dumps({**row, **said}).encode(), "JSONEachRow")
    trace = {"tenant": "default", "trace_id": "a-001", "run_ids": runs_of_trace, "generation": 9}
    views.insert("INSERT INTO canon_traces", json.dumps(trace).encode(), "JSONEachRow")
    assert ask("SELECT run_id, mean FROM run_scores") == [{"run_id": judged, "mean": 0.25}]


def test_numbers_shares_and_labels_have_the_statistics_of_their_kind(views: EmbeddedStore, ask: Ask) -> None:
    tell(
        views,
        *(
            run("a", n, ("relevance", 0.8 + n / 1000), ("ok", 1.0), ("verdict", "pass"), ("same", 0.5))
            for n in range(30)
        ),
        *(
            run(
                "b",
                n,
                ("relevance", 0.5 + n / 1000),
                ("ok", float(n % 2)),
                ("verdict", "pass" if n % 3 else "fail"),
                ("same", 0.5),
            )
            for n in range(30)
        ),
    )
    rows = drift(ask)
    assert {key: row["statistic"] for key, row in rows.items()} == {
        ("relevance", ""): "kolmogorov_smirnov",
        ("same", ""): "kolmogorov_smirnov",
        ("ok", ""): "proportions_z",
        ("verdict", "pass"): "proportions_z",
        ("verdict", "fail"): "proportions_z",
    }
    assert {key for key, row in rows.items() if row["drifted"]} == rows.keys() - {("same", "")}
    fell = rows["relevance", ""]
    assert (fell["baseline_mean"], fell["candidate_mean"]) == (pytest.approx(0.8145), pytest.approx(0.5145))
    assert (fell["baseline_median"], fell["candidate_median"]) == (
        pytest.approx(0.8145),
        pytest.approx(0.5145),
    )
    assert fell["examples"] == ["b-000", "b-001", "b-002"]  # the lowest: it fell
    grown = rows["verdict", "fail"]
    assert (grown["baseline_mean"], grown["candidate_mean"]) == (0, pytest.approx(1 / 3))
    assert (grown["baseline_median"], grown["unknown"]) == (None, None)
    assert grown["examples"] == ["b-000", "b-003", "b-006"]
    assert (rows["ok", ""]["baseline_mean"], rows["ok", ""]["candidate_mean"]) == (1, 0.5)
    assert (rows["same", ""]["value"], rows["same", ""]["p_value"]) == (0, 1)
    assert rows["relevance", ""]["value"] == 1


def test_a_score_that_is_missing_is_null_with_a_reason(views: EmbeddedStore, ask: Ask) -> None:
    tell(views, *(run("a", n, ("old", 0.5)) for n in range(25)))
    tell(
        views,
        *(run("b", n, *([("old", 0.0)] if n < 4 else []), ("new", 0.0), ("word", "no")) for n in range(25)),
    )
    rows = drift(ask)
    told = {key: (row["baseline_mean"], row["candidate_mean"], row["unknown"]) for key, row in rows.items()}
    assert told == {
        ("old", ""): (0.5, 0, "too_few_runs"),
        ("new", ""): (None, 0, "not_scored"),
        ("word", "no"): (None, 1, "not_scored"),
    }
    assert all(
        (r["p_value"], r["value"], r["statistic"], r["drifted"]) == (None, None, None, False)
        for r in rows.values()
    )
    assert {(int(r["baseline_runs"]), int(r["candidate_runs"])) for r in rows.values()} == {(25, 25)}
    assert (int(rows["old", ""]["baseline_n"]), int(rows["old", ""]["candidate_n"])) == (25, 4)


def test_scores_of_other_agents_and_tenants_are_not_mixed(views: EmbeddedStore, ask: Ask) -> None:
    run("a", 1, ("x", 1.0)).tell(views)
    run("b", 2, ("x", 0.0), agent="another").tell(views)
    run("b", 3, ("x", 0.5), tenant="other").tell(views)
    assert {(row["tenant"], row["candidate_mean"]) for row in ask(_DRIFT, agent="orla")} == {
        ("default", None),
        ("other", 0.5),
    }
    assert ask(_DRIFT, agent="nobody") == []
