"""`retrospan drift` says which metrics moved, by which runs it shows, and ends with 1 when one did."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from fix_cli import Ask, asking, serving


@pytest.fixture(scope="module")
def populations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("populations"), "--populations") as url:
        yield url


@pytest.fixture
def ask(populations: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    return asking(populations, monkeypatch, capsys)


def test_versions_that_use_their_tools_otherwise(ask: Ask) -> None:
    said = ask("drift", "--baseline", "version=1.4.1", "--candidate", "version=1.4.2")
    assert said.code == 1
    assert said.lines[0].split()[:3] == ["METRIC", "BASELINE", "CANDIDATE"]
    [send] = [line for line in said.lines if line.startswith("tool_share: send")]
    assert "drifted" in send and "1.4.2-after" in send
    assert "steps_per_run" not in said.out
    assert "drifted" in said.err and "120 runs against 120; --all shows the others" in said.err
    everything = ask("drift", "--baseline", "version=1.4.1", "--candidate", "version=1.4.2", "--all")
    assert "steps_per_run" in everything.out and "--all" not in everything.err


def test_rows_as_json_are_those_of_the_view(ask: Ask) -> None:
    said = ask("drift", "--baseline", "version=1.4.1", "--candidate", "version=1.4.2", "--json")
    rows = [json.loads(line) for line in said.lines]
    assert said.code == 1
    assert rows[0]["drifted"] is True and rows[-1]["drifted"] is False
    assert {"metric", "statistic", "p_value", "examples", "baseline_n"} <= rows[0].keys()


def test_a_version_beside_itself_has_not_drifted(ask: Ask) -> None:
    said = ask("drift", "--baseline", "version=1.4.1", "--candidate", "version=1.4.1")
    assert (said.code, said.out) == (0, "")
    assert said.err.startswith("no drift in ")


def test_too_few_runs_give_no_verdict(ask: Ask) -> None:
    said = ask("drift", "--baseline", "version=1.4.1", "--candidate", "version=1.4.3")
    assert said.code == 2
    assert "No verdict: the candidate has 7 runs, the baseline 120; 20 a side are needed." in said.err
    said = ask("drift", "--baseline", "version=0.1", "--candidate", "version=0.2")
    assert said.code == 2
    assert "there are no runs in either span" in said.err


def test_times_choose_the_runs(ask: Ask) -> None:
    windows = (
        "--baseline",
        "2026-05-28..2026-05-29,version=1.4.1",
        "--candidate",
        "2027-01-01..,version=1.4.2",
    )
    said = ask("drift", *windows)
    assert "the candidate has 0 runs, the baseline 120" in said.err
    assert "candidate_from = '2027-01-01 00:00:00.000000000'" in ask("drift", *windows, "--sql").out


@pytest.mark.parametrize(
    ("span", "complaint"),
    [
        (
            "yesterday",
            "'yesterday' is not a SPAN: use FROM..TO, version=VERSION, or both separated by a comma",
        ),
        ("version=", "lacks a version after 'version='"),
        ("1d..7d", "'1d..7d' ends before it begins"),
        ("soon..", "'soon' is not a time"),
    ],
)
def test_a_span_that_is_none_is_refused(ask: Ask, span: str, complaint: str) -> None:
    said = ask("drift", "--baseline", span, "--candidate", "1d..")
    assert said.code == 2
    assert complaint in said.err
