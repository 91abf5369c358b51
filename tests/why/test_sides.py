"""What a report on two sides is made of: the moment, lines that differ, what it says of few runs. Pure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrospan.ingest.why.sentence import Row, Sentence
from retrospan.ingest.why.sides.circumstance import SETUPS, VERSIONS
from retrospan.ingest.why.sides.lines import (
    common_lines,
    differing_lines,
    differing_members,
    differing_tools,
    text_of_instructions,
)
from retrospan.ingest.why.sides.moment import moment_of
from retrospan.ingest.why.sides.report import report_of
from retrospan.ingest.why.sides.rows import SideRows

_BOUNDS = ("from", "to", "version")
GIVEN = {**{f"{side}_{bound}": "" for side in ("baseline", "candidate") for bound in _BOUNDS}, "agent": ""}


def _stretch(at: int, runs: int, total: float) -> Row:
    return {
        "at": f"2026-11-{at:02d}T00:00:00Z",
        "runs": runs,
        "total": total,
        "scaled": total,
        "shown_by": f"r{at}",
    }


def _drift(metric: str, before: float, now: float, **more: Any) -> dict[str, Any]:
    return {
        "metric": metric, "statistic": "proportions_z", "value": 6.0, "p_value": 1e-9, "threshold": 0.01,
        "baseline_n": 100, "candidate_n": 100, "drifted": True, "examples": ["r1", "r2", "r3"],
        "baseline_mean": before, "candidate_mean": now, **more,
    }  # fmt: skip


def _value(part: str, name: str, value: str, before: int, now: int, **more: Any) -> dict[str, Any]:
    return {
        "part": part, "name": name, "value": value, "baseline_runs": before, "candidate_runs": now,
        "baseline_n": 100, "candidate_n": 100, "p_value": 1e-9, "changed": True, "first_at": "2026-11-04T03:00:00Z",
        "baseline_examples": ["b1"] if before else [], "candidate_examples": ["c1"] if now else [],
        "found_in": "c1", "found_call": 1, **more,
    }  # fmt: skip


def _told(rows: SideRows) -> dict[str, list[Sentence]]:
    return {chapter.name: [*chapter.sentences] for chapter in report_of(rows).chapters}


def test_the_moment_parts_what_is_low_from_what_is_high() -> None:
    days = [_stretch(day, 20, 1 if day < 9 else 9) for day in range(1, 15)]
    found = moment_of(days)
    assert found is not None
    assert (found.at[:10], found.runs_before, found.runs_after) == ("2026-11-09", 160, 120)
    assert found.before == pytest.approx(0.05) and found.after == pytest.approx(0.45)


@pytest.mark.parametrize("days", [[], [_stretch(1, 50, 5)], [_stretch(1, 2, 0), _stretch(2, 2, 2)]])
def test_too_few_stretches_or_runs_have_no_moment(days: list[Row]) -> None:
    assert moment_of(days) is None


def test_what_falls_has_no_moment_since_when_it_is_worse() -> None:
    assert moment_of([_stretch(day, 20, 9 if day < 9 else 1) for day in range(1, 15)]) is None


def test_lines_that_took_the_place_of_others_are_told_with_their_numbers() -> None:
    found = differing_lines("one\ntwo\nthree", "one\n2\nthree\nfour")
    assert [(line.is_new, line.text, line.number) for line in found] == [
        (False, "two", 2),
        (True, "2", 2),
        (True, "four", 4),
    ]
    assert differing_lines("same\n", "same") == []


def test_instructions_are_read_as_text_and_what_is_none_is_kept() -> None:
    parts = json.dumps([{"type": "text", "content": "a"}, {"type": "image", "uri": "u"}])
    assert text_of_instructions(parts) == 'a\n{"type": "image", "uri": "u"}'
    assert text_of_instructions("[broken") == "[broken"
    assert text_of_instructions(None) is None


def test_texts_with_a_date_are_compared_by_what_they_have_in_common() -> None:
    before = [f"now {n}\nbe kind" for n in range(6)]
    now = [f"now {n}\nbe kind\nbe quick" for n in range(6, 12)]
    assert [(line.is_new, line.text) for line in common_lines(before, now)] == [(True, "be quick")]
    assert common_lines(before, before) == [] and common_lines([], now) == []


def test_tools_in_another_order_are_the_same_tools() -> None:
    a, b = {"name": "a"}, {"type": "function", "function": {"name": "b"}}
    assert differing_tools(json.dumps([a, b]), json.dumps([b, a])) == []
    found = differing_tools(json.dumps([a, b]), json.dumps([{**a, "description": "x"}, {"name": "c"}]))
    assert [(line.is_new, json.loads(line.text).get("name")) for line in found] == [
        (False, "a"),
        (True, "a"),
        (False, None),
        (True, "c"),
    ]


def test_parameters_are_compared_one_by_one() -> None:
    found = differing_members(
        '{"temperature": 0, "seed": 1}', '{"temperature": 0.7, "seed": 1, "top_p": null}'
    )
    assert [(line.is_new, line.text) for line in found] == [
        (False, "temperature: 0"),
        (True, "temperature: 0.7"),
        (True, "top_p: null"),
    ]


def test_one_change_is_said_to_be_the_only_one_and_never_the_cause() -> None:
    rows = SideRows(GIVEN)
    rows.drift = [_drift("failure_rate", 0.05, 0.4)]
    rows.circumstances = [_value("model", "a", "m-1", 100, 0), _value("model", "a", "m-2", 0, 100)]
    told = _told(rows)
    assert [sentence.kind for sentence in told["changed"]] == ["model", "only"]
    assert (
        "was changed too" in told["changed"][0].text()
        and "runs that show it: “c1”" in told["changed"][0].text()
    )
    everything = " ".join(sentence.text() for chapter in told.values() for sentence in chapter)
    assert "because" not in everything and "not known: none is on record" in everything


@pytest.mark.parametrize("part", [*SETUPS, *VERSIONS])
def test_a_change_of_what_has_no_name_is_a_sentence(part: str) -> None:
    rows = SideRows(GIVEN)
    rows.drift = [_drift("failure_rate", 0.05, 0.4)]
    rows.circumstances = [_value(part, "", "1", 100, 0), _value(part, "", "2", 0, 100)]
    said = _told(rows)["changed"][0].text()
    lead = said.partition(" changed too: ")[0]
    assert lead.endswith((" was", " were")) and "“" not in lead and "  " not in lead
    assert not lead.removesuffix(" was").endswith((" of", " by", " of agent"))


def test_several_changes_are_told_and_none_of_them_is_chosen() -> None:
    rows = SideRows(GIVEN)
    rows.drift = [_drift("failure_rate", 0.05, 0.4)]
    rows.circumstances = [
        _value("model", "a", "m-1", 100, 0),
        _value("model", "a", "m-2", 0, 100),
        _value("parameters", "a", '{"temperature":0}', 100, 40),
        _value("parameters", "a", '{"temperature":1}', 0, 60),
    ]
    told = _told(rows)
    assert [sentence.kind for sentence in told["changed"]] == ["model", "parameters", "several"]
    assert "they may be one change" not in told["changed"][-1].text()
    assert [sentence.text() for sentence in told["lines"]] == [
        "Gone from the parameters of agent “a”: “temperature: 0”",
        "New in the parameters of agent “a”: “temperature: 1”",
    ]


def test_a_version_says_that_something_changed_and_not_what() -> None:
    rows = SideRows(GIVEN)
    rows.drift = [_drift("duration_ms", 100, 900)]
    rows.circumstances = [_value("agent_version", "a", "2", 0, 100)]
    assert "but for the version: what is new in it is not on record" in _told(rows)["changed"][-1].text()


@pytest.mark.parametrize(
    ("metric", "chapter"),
    [("failure_rate", "different"), ("tool_mix", "different"), ("tool_share: x", "different")],
)
def test_what_fell_or_has_no_direction_is_not_worse(metric: str, chapter: str) -> None:
    rows = SideRows(GIVEN)
    rows.drift = [_drift(metric, 0.4, 0.05)]
    told = _told(rows)
    assert [sentence.kind for sentence in told["worse"]] == ["nothing"]
    assert [sentence.kind for sentence in told[chapter]] == ["different"]


def test_too_few_runs_are_inconclusive_with_how_many_more() -> None:
    rows = SideRows(GIVEN)
    few = _drift("runs", 0, 0, statistic="too_few_runs", baseline_n=120, candidate_n=7, drifted=False)
    rows.drift = [few]
    (said,) = _told(rows)["worse"]
    assert said.text() == (
        "INCONCLUSIVE: the candidate has 7 runs, the baseline 120; 20 a side are needed: 13 more of the candidate."
    )
    rows.drift = []
    (said,) = _told(rows)["worse"]
    assert "20 more of the candidate and 20 more of the baseline" in said.text()
