"""`retrospan findings` and `retrospan loops --by day`: planted faults among 400 runs of a fortnight, each by one command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from finding_runs import RUNS
from finding_scenes import EVERY, FAULTS, HEALTHY, ODD, runs_with_findings
from fix_cli import LOOP, Ask, asking, serving


@pytest.fixture(scope="module")
def fortnight_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("findings"), "--findings") as url:
        yield url


@pytest.fixture
def told(fortnight_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    return asking(fortnight_url, monkeypatch, capsys)


def planted(fault: str) -> set[str]:
    """Return the runs of the fortnight that have a fault."""
    place = [*FAULTS].index(fault)
    return {
        f"{number:032x}" for number in range(EVERY - 1, RUNS, EVERY) if number // EVERY % len(FAULTS) == place
    }


def rows_of(told: Ask, *words: str) -> list[dict[str, Any]]:
    said = told(*words, "--json", "-n", "1000")
    assert said.code == 0, said
    return [json.loads(line) for line in said.lines]


@pytest.mark.parametrize(
    ("fault", "command"), [(fault, f"findings --rule {fault}") for fault in FAULTS], ids=[*FAULTS]
)
def test_each_planted_fault_is_found_by_one_command(told: Ask, fault: str, command: str) -> None:
    rows = rows_of(told, *command.split())
    assert {row["run_id"] for row in rows} == planted(fault) and planted(fault)
    assert all(row["evidence"] and row["explanation"] for row in rows)


def test_loops_with_changed_wording_quote_the_first_and_the_last(told: Ask) -> None:
    first = rows_of(told, "findings", "--rule", "wording_loop")[0]
    assert '{"query":"Zeta-9 warranty"} to {"query":"Zeta-9 warranty terms"}' in first["explanation"]
    assert len(first["evidence"]) == 4 and first["tool_name"] == "search_docs"


def test_a_contradiction_names_both_values_and_rests_on_the_call_and_the_answer(told: Ask) -> None:
    rows = rows_of(told, "findings", "--rule", "contradiction", "--severity", "error")
    said = " ".join(row["explanation"] for row in rows[:3]).casefold()
    for wrong, right in (("ord-4417", "ord-4471"), ("june 20, 2026", "2026-06-11"), ("192.85", "129.9")):
        assert wrong in said and right in said
    assert {reference.split(":")[0] for reference in rows[0]["evidence"]} == {"step", "message"}


def test_an_agents_first_odd_sequence_is_found(told: Ask) -> None:
    (row,) = rows_of(told, "findings", "--rule", "odd_sequence")
    assert row["run_id"] == f"{ODD:032x}" and row["agent_name"] == "till"
    assert "(start) > refund (and 1 more) before" in row["explanation"]


def test_healthy_runs_of_the_fortnight_have_no_finding(told: Ask) -> None:
    faulty = set.union(*(planted(fault) for fault in FAULTS)) | {f"{ODD:032x}"}
    assert {row["run_id"] for row in rows_of(told, "findings")} == faulty
    assert len(faulty) == RUNS // EVERY + 1
    assert len(runs_with_findings()) == RUNS and len(HEALTHY) == 20


@pytest.mark.parametrize("by", ["rule", "agent", "tool", "day"])
def test_findings_are_counted(told: Ask, by: str) -> None:
    listed = rows_of(told, "findings")
    counted = rows_of(told, "findings", "--by", by)
    assert sum(row["findings"] for row in counted) == len(listed)
    assert all(1 <= len(row["examples"]) <= 3 and row["newest_evidence"] for row in counted)
    if by == "rule":
        assert {row["name"]: row["runs"] for row in counted}["exact_loop"] == len(planted("exact_loop"))
    said = told("findings", "--by", by)
    assert said.code == 0 and f"{len(listed)} findings; " in said.err, said


def test_what_is_asked_for_narrows_the_list(told: Ask) -> None:
    some = rows_of(told, "findings", "--since", "2026-06-08")
    assert 0 < len(some) < len(rows_of(told, "findings")) and all(row["at"] >= "2026-06-08" for row in some)
    assert {row["agent_name"] for row in rows_of(told, "findings", "--agent", "till")} == {"till"}
    assert {row["tool_name"] for row in rows_of(told, "findings", "--tool", "pay")} == {"pay"}
    grave = rows_of(told, "findings", "--severity", "error")
    assert {row["severity"] for row in grave} == {"error"}
    assert rows_of(told, "findings", "--run", grave[0]["run_id"])[0]["run_id"] == grave[0]["run_id"]
    assert told("findings", "-n", "2").err.startswith("2 findings in 2 runs, and more: -n 8")


def test_nothing_found_says_of_how_many_runs(told: Ask) -> None:
    said = told("findings", "--agent", "nobody", "--exit-code")
    assert (said.code, said.out) == (0, "")
    assert said.err.startswith("Nothing that fits --agent was found in 400 runs. Try without --agent.")
    assert told("findings", "--since", "2040-01-01").err.startswith("No findings in 0 runs since 2040")
    found = {row["run_id"] for row in rows_of(told, "findings", "-n", "500")}
    well = next(row["run_id"] for row in rows_of(told, "runs", "-n", "500") if row["run_id"] not in found)
    said = told("findings", "--run", well)
    assert said.err.startswith(f"No findings in run {well[:8]}. Try without --run.")
    assert told("findings", "--exit-code").code == 1


def test_without_runs_nothing_can_be_found(ask_empty: Ask) -> None:
    assert "No runs yet" in ask_empty("findings").err


def test_an_unknown_rule_names_the_nearest(told: Ask) -> None:
    said = told("findings", "--rule", "wording_lop")
    assert said.code == 2 and "'wording_lop' is not a rule. Did you mean wording_loop?" in said.err


def test_the_sql_of_findings_can_be_run_as_it_is_printed(told: Ask) -> None:
    for words in (["findings"], ["findings", "--by", "day"], ["loops", "--by", "day"]):
        printed = told(*words, "--sql")
        assert printed.code == 0 and "{" not in printed.out
        assert told("sql", printed.out, "--json").lines


def test_loops_are_counted_by_day(told: Ask) -> None:
    days = rows_of(told, "loops", "--by", "day")
    assert [row["day"] for row in days] == sorted((row["day"] for row in days), reverse=True)
    assert sum(row["loops"] for row in days) == len(rows_of(told, "loops"))
    assert all(row["longest"] >= 3 and row["calls"] >= 3 * row["loops"] for row in days)


def test_a_day_of_loops_names_the_longest(ask: Ask) -> None:
    said = ask("loops", "--by", "day")
    assert said.lines[0].split() == ["DAY", "LOOPS", "RUNS", "CALLS", "LONGEST", "TOOL", "FOR", "EXAMPLE"]
    assert said.lines[1].split()[1:] == ["1", "1", "4", "4", "search_docs", LOOP[:8]]
    assert ask("loops", "--by", "day", "--min", "5").err.startswith("No loops in")
