"""Recorded traffic through a real collector becomes bundles that hold every request as it went over the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from bundle.truth import requests_of, tools_of
from fix_collector import Served
from fix_recordings import Recording, load_recording
from fix_why import session_of

from retrospan.ingest.bundle.check import check_of
from retrospan.ingest.cli.views.bundle_rows import read_run
from retrospan.schemas.bundle.canonical import canonical_of, key_of
from retrospan.schemas.bundle.container import read_bundle, write_bundle
from retrospan.schemas.bundle.difference import first_difference, nearest
from retrospan.schemas.bundle.form import Bundle, RunRecord
from retrospan.schemas.bundle.sameness import canonical_data

pytestmark = pytest.mark.long

#: Recordings of one run each.
NAMES = (
    "langgraph-openinference/normal",
    "langgraph-openinference/tool_error",
    "openai-v2.span_and_event/loop",
    "openai-v2.span_and_event/llm_error",
    "anthropic-openinference/normal",
    "pydantic-ai/parallel",
    "pydantic-ai/loop",
    "llama-index/tool_error",
)


@pytest.fixture(scope="module")
def runs(module_served: Served) -> Iterator[dict[str, str]]:
    """The run of each recording, by its name."""
    found = dict[str, str]()
    for name in NAMES:
        before = {row["run_id"] for row in module_served.rows("SELECT run_id FROM runs")}
        recording = load_recording(name)
        module_served.send(recording.traces, recording.logs)
        module_served.wait_idle()
        after = {row["run_id"] for row in module_served.rows("SELECT run_id FROM runs")}
        (found[name],) = after - before
    yield found


def run_of(served: Served, run_id: str) -> RunRecord:
    return read_run(session_of(f"http://{served.sql}"), run_id)[0]


@pytest.mark.engine
@pytest.mark.parametrize("name", NAMES)
def test_the_requests_and_results_are_those_of_the_wire(
    module_served: Served, runs: dict[str, str], name: str, tmp_path: Path
) -> None:
    recording: Recording = load_recording(name)
    run = run_of(module_served, runs[name])
    models = [canonical_of(replace(call, tools=None)) for call in run.model_calls()]
    asked = list(requests_of(recording))
    assert len(models) == len(asked)
    for live in asked:
        found = nearest(models, live)
        assert found is not None and found.difference is None, found and found.difference
        assert key_of(live, models[found.place].held()) == models[found.place].key()
    kept = [
        (call.name, canonical_data(call.arguments), canonical_data(call.result))
        for call in run.tool_calls()
        if call.error is None
    ]
    told = [(name, canonical_data(given), canonical_data(got)) for name, given, got in tools_of(recording)]
    assert sorted(kept, key=repr) == sorted(told, key=repr)
    check = check_of(run)
    assert (check.gaps, check.is_open, check.replayable) == ((), False, len(run.calls))
    bundle = Bundle(made_by="x", rules=None, runs=(run,))
    write_bundle(tmp_path / "one", bundle)
    assert read_bundle(tmp_path / "one") == bundle
    assert first_difference(models[0], models[0]) is None


@pytest.mark.engine
def test_what_the_spans_say_beside_is_there(module_served: Served, runs: dict[str, str]) -> None:
    run = run_of(module_served, runs["openai-v2.span_and_event/llm_error"])
    first, tool, last = run.calls
    assert first in run.model_calls() and tool in run.tool_calls()
    first, last = run.model_calls()
    assert (first.operation, first.response_id) == ("chat", "chatcmpl-llm_error-0-0")
    assert first.usage == {"input_tokens": 100, "output_tokens": 20}
    assert (first.n, first.step, tool.n, last.n) == (1, 1, 2, 3)
    assert run.tool_calls()[0].asked_by == 1
    assert last.answer is None and last.replayable
    assert last.error is not None and last.error.status_code == 400
    assert first.started_at is not None and first.ended_at is not None
    assert 0 < first.ended_at - first.started_at < 10**10


@pytest.mark.engine
def test_a_suite_is_one_file_and_a_check_writes_none(
    module_served: Served, runs: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "suite.bundle"
    condition = "errors > 0 OR steps = {steps:UInt8}"
    out = module_served.run("bundle", "--where", condition, "--param", "steps=13", "--out", str(file))
    suite = read_bundle(file)
    wanted = {
        row["run_id"] for row in module_served.rows("SELECT run_id FROM runs WHERE errors > 0 OR steps = 13")
    }
    assert {run.run_id for run in suite.runs} == wanted and len(wanted) >= 4
    assert f"{len(wanted)} of {len(wanted)} runs can be replayed whole" in out
    again = tmp_path / "again.bundle"
    module_served.run("bundle", "--where", condition, "--param", "steps=13", "--out", str(again))
    assert again.read_bytes() == file.read_bytes()
    before = sorted(tmp_path.iterdir())
    run_id = runs["openai-v2.span_and_event/loop"]
    (told,) = module_served.run("bundle", run_id, "--check", "--json").splitlines()
    check = json.loads(told)
    assert (check["run_id"], check["calls"], check["replayable"], check["missing"]) == (run_id, 13, 13, [])
    assert check["not_compared"] == {"tools": 7}
    assert sorted(tmp_path.iterdir()) == before
