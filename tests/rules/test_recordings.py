"""One rule, every recorded framework: what the tool did comes back as the same history of the entity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fix_recordings import Recording, load_recording, manifest
from spans import read_runs, spans_of_requests

from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.version import VERSION
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.schemas.stated import ObservationRow

RULES = Ruleset.read(Path(__file__).with_name("records.toml"))
Change = tuple[str, str, str, object, object]  # entity type, entity id, field, old, new
NAMES = sorted(
    name for name, of in manifest().items() if "update_record" in of["expected"]["tool_names_in_order"]
)


def observed(recording: Recording) -> list[ObservationRow]:
    """The observations of a recording's runs, by the rule."""
    runs = read_runs(spans_of_requests(recording.traces, recording.logs), RULES)
    return [row for run in runs for row in rows_of(run, "default", 1, None).observations]


def history(rows: list[ObservationRow]) -> list[Change]:
    """What changed when, the slow way: statements in the order in which they hold, those that repeat left out."""
    held: dict[tuple[str, str, str], object] = {}
    changes: list[Change] = []
    for row in sorted(rows, key=lambda row: row.valid_from):
        key, value = (row.entity_type, row.entity_id, row.field), json.loads(row.value or "null")
        if held.get(key) != value:
            changes.append((*key, held.get(key), value))
        held[key] = value
    return changes


def happened(recording: Recording) -> list[Change]:
    """What the tool itself noted down, apart from all telemetry."""
    changes: list[Change] = []
    held: dict[tuple[str, str], object] = {}
    for entry in recording.truth:
        if entry["kind"] != "tool" or entry["tool"] != "update_record" or entry["error"] is not None:
            continue
        result = entry["result"]
        key = (result["record_id"], result["field"])
        for value in (result["before"], result["after"]):
            if held.get(key) != value:
                changes.append(("record", *key, held.get(key), value))
            held[key] = value
    return changes


@pytest.mark.parametrize("name", NAMES)
def test_every_framework_tells_the_history_that_happened(name: str) -> None:
    recording = load_recording(name)
    wanted = happened(recording)
    assert len(wanted) >= 2
    assert history(observed(recording)) == wanted


def test_frameworks_agree_with_each_other() -> None:
    for scenario in ("normal", "tool_error", "diverge_a"):
        told = {
            name: history(observed(load_recording(name))) for name in NAMES if name.endswith(f"/{scenario}")
        }
        assert len(told) > 5
        assert len({str(changes) for changes in told.values()}) == 1, told


def test_an_observation_names_the_call_and_the_rule() -> None:
    before, after = observed(load_recording("langgraph-openinference/normal"))
    assert [row.source for row in (before, after)] == ["rule:records:before", "rule:records"]
    assert (after.entity_type, after.entity_id, after.field) == ("record", "C-1042", "status")
    assert (before.value, after.value) == ('"open"', '"delay_notified"')
    assert before.step == after.step == 6 and before.span_id == after.span_id
    assert before.valid_from < after.valid_from
    assert after.agent_name == "orla" and before.observation_id != after.observation_id


def test_a_rule_that_finds_nothing_is_a_problem_of_the_run() -> None:
    text = Path(__file__).with_name("records.toml").read_text().replace("result.after", "result.now")
    recording = load_recording("strands/normal")
    (run,) = read_runs(spans_of_requests(recording.traces, recording.logs), Ruleset.parse(text, "rules"))
    (problem,) = [problem for problem in run.problems if problem.field.startswith("rule:")]
    assert problem.field == "rule:records" and problem.reason == "after: result.now does not lead to anything"
    assert "C-1042" in problem.raw
    assert run.interpreted_by.startswith(f"{VERSION}+rules.")
