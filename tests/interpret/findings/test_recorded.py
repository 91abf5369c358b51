"""Findings of recorded runs: the loops among them, and nothing in runs that went well."""

from __future__ import annotations

from functools import cache

import pytest
from fix_recordings import OTHERS, load_recording, manifest, taken
from spans import rows_of_spans, spans_of_requests

#: Scenarios in which a run does something wrong that rules may find.
FAULTY = ("loop", "loop_varied", "tool_error", "llm_error", "crash", "big")
#: Loops of which the results are not on record.
SILENT = {
    "openai-agents-agentops/loop",
    "agentscope-java/loop",
    "anthropic-langtrace/loop",
    "ax/loop",
    "google-genai-agentops/loop",
    "langgraph-langtrace/loop",
    "mistralai-traceloop/loop",
}


@cache
def rules_by_recording() -> dict[str, set[str]]:
    whole = {name: load_recording(name) for name in manifest()} | taken() | taken(OTHERS)
    return {
        name: {
            finding.rule
            for rows in rows_of_spans(spans_of_requests(recording.traces, recording.logs))
            for finding in rows.findings
        }
        for name, recording in whole.items()
    }


@pytest.mark.long
def test_no_recorded_run_that_went_well_has_a_finding() -> None:
    well = {name: rules for name, rules in rules_by_recording().items() if name.split("/")[-1] not in FAULTY}
    assert len(well) > 300
    assert {name: rules for name, rules in well.items() if rules} == {}


@pytest.mark.long
def test_recorded_loops_are_found() -> None:
    found = rules_by_recording()
    loops = {name: rules for name, rules in found.items() if name.endswith("/loop")}
    missed = {name for name, rules in loops.items() if not rules & {"exact_loop", "repeated_failures"}}
    assert len(loops) > 80 and missed == SILENT
    varied = {name: rules for name, rules in found.items() if name.endswith("/loop_varied")}
    assert len(varied) >= 5 and all(rules == {"wording_loop"} for rules in varied.values())
