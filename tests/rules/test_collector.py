"""Rules in a running collector: tried on stored runs, turned on, applied to the past by a rebuild."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_collector import Served
from fix_recordings import load_recording

from retrospan.ingest.interpret.version import VERSION

RULES = Path(__file__).with_name("records.toml").read_text(encoding="utf-8")
OTHER = RULES.replace('tool = "update_record"', 'tool = "nothing_like_it"')


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "rules.toml"
    file.write_text(OTHER, encoding="utf-8")
    return file


@pytest.fixture
def ruled(tmp_path: Path, rules: Path) -> Iterator[Served]:
    """A collector that reads by the rules."""
    config = tmp_path / "config.toml"
    config.write_text(f'[interpreter]\nrules = "{rules}"\n', encoding="utf-8")
    collector = Served(tmp_path / "data", tmp_path / "stderr.txt", "--config", str(config))
    yield collector
    collector.kill()


@pytest.mark.long
def test_rules_are_tried_turned_on_and_applied_to_the_past(
    ruled: Served, rules: Path, tmp_path: Path
) -> None:
    for name in ("langgraph-openinference/diverge_a", "google-adk/tool_error"):
        recording = load_recording(name)
        ruled.send(recording.traces, recording.logs)
    ruled.until(lambda: len(ruled.rows("SELECT run_id FROM runs")) == 2)
    ruled.wait_idle()
    assert ruled.rows("SELECT * FROM observations") == []
    (before,) = ruled.rows("SELECT DISTINCT interpreted_by AS by FROM runs")

    tried = tmp_path / "tried.toml"
    tried.write_text(RULES, encoding="utf-8")
    foretold = [json.loads(line) for line in ruled.run("rules", "test", str(tried), "--json").splitlines()]
    assert len(foretold) == 4 and ruled.rows("SELECT * FROM observations") == []

    rules.write_text(RULES.replace("field =", "feld ="), encoding="utf-8")
    ruled.run("rebuild", "--run", "last", code=2)
    assert ruled.rows("SELECT DISTINCT interpreted_by AS by FROM runs") == [before]

    rules.write_text(RULES, encoding="utf-8")
    ruled.run("rebuild", "--since", "2000-01-01T00:00:00Z")
    columns = (
        "entity_type",
        "entity_id",
        "field",
        "op",
        "value",
        "run_id",
        "step",
        "span_id",
        "agent_name",
        "source",
    )
    found = ruled.rows(f"SELECT {', '.join(columns)} FROM observations")
    wanted = [{name: row[name] for name in columns} for row in foretold]
    for row in found:
        row["value"] = json.loads(row["value"])
    assert sorted(found, key=str) == sorted(wanted, key=str)
    (after,) = ruled.rows("SELECT DISTINCT interpreted_by AS by FROM runs")
    assert after != before and after["by"].startswith(f"{VERSION}+rules.")

    timeline = "SELECT field, old_value, new_value, step, source FROM entity_timeline WHERE entity_id = {id:String} ORDER BY at"
    assert ruled.rows(timeline, id="O-77") == [
        {
            "field": "ship_today",
            "old_value": None,
            "new_value": '"unknown"',
            "step": 6,
            "source": "rule:records:before",
        },
        {
            "field": "ship_today",
            "old_value": '"unknown"',
            "new_value": '"no"',
            "step": 6,
            "source": "rule:records",
        },
    ]
    assert [row["new_value"] for row in ruled.rows(timeline, id="C-2077")] == ['"Oslo"', '"Bergen"']


def test_a_collector_with_unusable_rules_does_not_start(tmp_path: Path) -> None:
    bad = tmp_path / "rules.toml"
    bad.write_text(RULES + "colour = 1\n", encoding="utf-8")
    config = tmp_path / "config.toml"
    config.write_text(f'[interpreter]\nrules = "{bad}"\n', encoding="utf-8")
    with pytest.raises(AssertionError, match=r"rules\.toml line 10: colour: not a key of a rule"):
        Served(tmp_path / "data", tmp_path / "stderr.txt", "--config", str(config))
