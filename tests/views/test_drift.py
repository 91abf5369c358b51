"""`drift` finds what was planted, and seldom anything where two samples come from one population."""

from __future__ import annotations

from typing import Any

import pytest
from populations import SHARES, Kind, MadeRun, made, write
from story import Ask

from retrospan.ingest.warehouse.embedded import EmbeddedStore

_ASK = (
    "SELECT * FROM drift(baseline_from = '', baseline_to = '', baseline_version = 'a', candidate_from = '', "
    "candidate_to = '', candidate_version = 'b', agent = '')"
)


def compare(
    store: EmbeddedStore, ask: Ask, baseline: list[MadeRun], candidate: list[MadeRun]
) -> dict[tuple[str, str], dict[str, Any]]:
    write(store, "default", "a", baseline)
    write(store, "default", "b", candidate)
    return {(row["metric"], row["statistic"]): row for row in ask(_ASK)}


def drifted(found: dict[tuple[str, str], dict[str, Any]]) -> set[str]:
    return {metric for (metric, _), row in found.items() if row["drifted"]}


def test_a_tool_whose_share_doubles_is_found(views: EmbeddedStore, ask: Ask) -> None:
    moved = (0.3, 0.3, 0.15, 0.2, 0.05)
    found = compare(views, ask, made("before", 500), made("after", 500, Kind(shares=moved)))
    assert {"tool_share: send", "tool_mix"} <= drifted(found)
    assert drifted(found) & {"input_tokens", "failure_rate", "duration_ms", "loop_rate"} == set()
    row = found["tool_share: send", "welch_t"]
    assert 0.08 < row["baseline_mean"] < 0.12
    assert 0.17 < row["candidate_mean"] < 0.23
    assert (row["baseline_n"], row["candidate_n"], row["threshold"]) == (500, 500, 0.01)
    assert row["p_value"] < 1e-5 and row["value"] > 5
    assert len(row["examples"]) == 3
    [[lowest, mean]] = [
        [shown["lowest"], shown["mean"]]
        for shown in ask(
            "SELECT minIf(share, run_id IN {examples:Array(String)}) AS lowest, avg(share) AS mean FROM "
            "(SELECT run_id, countIf(tool_name = 'send') / count() AS share FROM tool_calls "
            "WHERE startsWith(run_id, 'b-') GROUP BY run_id)",
            examples=row["examples"],
        )
    ]
    assert lowest > 2 * mean


def test_another_mix_of_tools_is_found_as_a_whole(views: EmbeddedStore, ask: Ask) -> None:
    found = compare(
        views, ask, made("before", 500), made("after", 500, Kind(shares=(0.2, 0.3, 0.2, 0.2, 0.1)))
    )
    assert drifted(found) >= {"tool_mix", "tool_transitions", "tool_share: search", "tool_share: send"}
    assert drifted(found) & {"input_tokens", "failure_rate", "duration_ms", "loop_rate"} == set()


def test_a_fifth_more_tokens_are_found(views: EmbeddedStore, ask: Ask) -> None:
    found = compare(views, ask, made("before", 500), made("after", 500, Kind(tokens=4800)))
    assert drifted(found) == {"input_tokens"}
    row = found["input_tokens", "kolmogorov_smirnov"]
    assert row["candidate_mean"] > row["baseline_mean"]


def test_latency_failures_and_loops_are_found(views: EmbeddedStore, ask: Ask) -> None:
    worse = Kind(seconds=14, failing=0.2, looping=0.15)
    found = compare(views, ask, made("before", 300), made("after", 300, worse))
    assert drifted(found) >= {"duration_ms", "failure_rate", "loop_rate"}
    assert found["duration_ms", "psi"]["drifted"] and found["duration_ms", "psi"]["p_value"] is None
    examples = found["failure_rate", "proportions_z"]["examples"]
    outcomes = ask("SELECT DISTINCT outcome FROM runs WHERE run_id IN {ids:Array(String)}", ids=examples)
    assert outcomes == [{"outcome": "error"}]
    assert found["failure_rate", "proportions_z"]["candidate_mean"] == pytest.approx(0.2, abs=0.08)


@pytest.mark.long
def test_samples_of_one_population_seldom_differ(views: EmbeddedStore, ask: Ask) -> None:
    write(views, "everybody", "", made("everybody", 400))
    for table, version in (
        ("canon_runs", "if(sipHash64(run_id, number) % 2 = 0, 'a', 'b')"),
        ("canon_habits", ""),
        ("canon_loops", ""),
    ):
        replaced = "concat('split ', toString(number)) AS tenant" + (
            f", {version} AS agent_version" if version else ""
        )
        views.command(
            f"INSERT INTO {table} SELECT c.* REPLACE ({replaced}) FROM {table} AS c CROSS JOIN numbers(200) AS n"
        )
    rows = [
        row
        for tens in range(0, 200, 50)
        for row in ask(
            f"{_ASK} WHERE tenant IN {{tenants:Array(String)}}",
            tenants=[f"split {number}" for number in range(tens, tens + 50)],
        )
    ]
    assert len({row["tenant"] for row in rows}) == 200
    assert min(row["baseline_n"] for row in rows) > 150
    assert len({row["tenant"] for row in rows if row["drifted"]}) <= 6


def test_a_few_runs_of_one_population_seldom_differ_from_many(views: EmbeddedStore, ask: Ask) -> None:
    """As a canary is compared with the week before it: five of them, of 25 runs each."""
    baseline = made("week", 300)
    for number in range(5, 10):
        write(views, f"canary {number}", "a", baseline)
        write(views, f"canary {number}", "b", made(f"canary {number}", 25))
    rows = ask(f"{_ASK} WHERE tenant LIKE 'canary %'")
    assert {(row["baseline_n"], row["candidate_n"]) for row in rows} == {(300, 25)}
    assert [(row["tenant"], row["metric"]) for row in rows if row["drifted"]] == []


def test_too_few_runs_give_no_verdict(views: EmbeddedStore, ask: Ask) -> None:
    found = compare(views, ask, made("before", 19), made("after", 500, Kind(failing=1.0)))
    [row] = found.values()
    assert (row["metric"], row["statistic"], row["value"], row["threshold"]) == (
        "runs",
        "too_few_runs",
        19,
        20,
    )
    assert (row["baseline_n"], row["candidate_n"], row["drifted"], row["examples"]) == (19, 500, False, [])


def test_a_tool_that_everybody_or_nobody_uses_is_certain(views: EmbeddedStore, ask: Ask) -> None:
    def all_same(seed: str, tool: int) -> list[MadeRun]:
        return made(seed, 30, Kind(shares=[float(i == tool) for i in range(5)], failing=0, looping=0))

    found = compare(views, ask, all_same("before", 1), all_same("after", 1))
    assert found["tool_share: read", "welch_t"]["p_value"] == 1
    assert found["failure_rate", "proportions_z"]["value"] == 0
    write(views, "other", "a", all_same("before", 1))
    write(views, "other", "b", all_same("after", 2))
    rows = [row for row in ask(_ASK) if row["tenant"] == "other"]
    assert {row["metric"] for row in rows if row["drifted"]} >= {
        "tool_mix",
        "tool_transitions",
        "tool_share: read",
        "tool_share: write",
    }
    assert [row["value"] for row in rows if row["metric"] == "tool_mix"] == [1]


def test_windows_versions_and_agents_choose_the_runs(views: EmbeddedStore, ask: Ask) -> None:
    write(views, "default", "a", made("before", 100))
    write(views, "default", "b", made("after", 100))
    asked = (
        "SELECT any(baseline_n) AS b, any(candidate_n) AS c FROM drift(baseline_from = {f:String}, baseline_to = {t:String}, "
        "baseline_version = {v:String}, candidate_from = {t:String}, candidate_to = '', candidate_version = {v:String}, "
        "agent = {agent:String}) WHERE metric = 'tool_mix'"
    )
    early, middle = "2026-05-28T20:26:40Z", "2026-05-28T20:27:10Z"
    assert ask(asked, f=early, t=middle, v="", agent="") == [{"b": 60, "c": 140}]
    assert ask(asked, f=early, t=middle, v="a", agent="orla") == [{"b": 30, "c": 70}]
    assert ask(asked, f="", t=middle, v="", agent="nobody") == [{"b": 0, "c": 0}]


def test_runs_without_tools_or_tokens_are_compared_by_the_rest(views: EmbeddedStore, ask: Ask) -> None:
    def silent(seed: str) -> list[MadeRun]:
        return [
            MadeRun(
                run_id=run.run_id, tools=[], steps=run.steps, input_tokens=None, output_tokens=None,
                duration_ms=run.duration_ms, outcome=run.outcome, loops=False,
            )
            for run in made(seed, 50)
        ]  # fmt: skip

    found = compare(views, ask, silent("before"), silent("after"))
    metrics = {metric for metric, _ in found}
    assert metrics == {
        "tool_mix", "tool_transitions", "tool_share: (no tool)", "steps_per_run", "duration_ms",
        "failure_rate", "incomplete_rate", "loop_rate",
    }  # fmt: skip
    assert drifted(found) == set()
    assert all(0 <= row["value"] <= 1 for row in found.values() if row["statistic"] == "kolmogorov_smirnov")
    assert sum(SHARES) == pytest.approx(1)
