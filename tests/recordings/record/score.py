"""How many facts of recordings come back from the collector's views."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from fix_collector import Served
from fix_recordings import Recording, read_recording
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from recordings.record.facts import Fact, Views, facts_of


def scores(recordings: Sequence[Recording]) -> dict[str, list[Fact]]:
    """Send recordings to a collector of their own, wait until all is interpreted, and ask its views for the facts.

    What no byte of a recording holds is left out.
    """
    with TemporaryDirectory() as folder:
        served = Served(Path(folder) / "data", Path(folder) / "stderr.txt")
        try:
            for recording in recordings:
                served.send(recording.traces, recording.logs)
            served.wait_idle()
            return {
                recording.name: [
                    fact for fact in facts_of(recording, views_of(served, recording)) if fact.is_known
                ]
                for recording in recordings
            }
        finally:
            served.kill()


def print_scores(folder: Path, names: Sequence[str], *, percent_only: bool) -> None:
    """Print the share of facts that came back, per recording and in all, and what is missing."""
    listed = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))["recordings"]
    recordings = [
        read_recording(folder, entry)
        for entry in listed
        if f"{entry['framework']}/{entry['scenario']}" in names
    ]
    found = scores(recordings)
    for name, facts in found.items():
        if not percent_only:
            print(f"{name:44} {_share(facts)}")
            for fact in facts:
                if not fact.holds:
                    print(f"    {fact.name}: {fact.seen}")
    print(f"{'all':44} {_share([fact for facts in found.values() for fact in facts])}")


def _share(facts: Sequence[Fact]) -> str:
    right = sum(fact.holds for fact in facts)
    return f"{right:4} of {len(facts):4}  {right / max(1, len(facts)):6.1%}"


def views_of(served: Served, recording: Recording) -> Views:
    """Everything that the views say of the runs that a recording's traces lie in."""
    traces = sorted(
        {
            span.trace_id.hex()
            for body in recording.traces
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }
    )
    listed = str(traces)
    runs = served.rows(
        "SELECT run_id, agent_name, input, output, outcome, input_tokens, output_tokens FROM runs "
        "WHERE hasAny(trace_ids, {traces:Array(String)}) ORDER BY started_at, run_id",
        traces=listed,
    )
    for run in runs:
        # A run without an end is said to be running for five minutes.
        run["outcome"] = "incomplete" if run["outcome"] == "running" else run["outcome"]
    order = {run["run_id"]: place for place, run in enumerate(runs)}
    model_calls = served.rows(
        "SELECT run_id, ordinal, agent_name, request_model, response_model, status, system_instructions, "
        "input_messages, output_messages FROM model_calls WHERE run_id IN {runs:Array(String)}",
        runs=str(list(order)),
    )
    tool_calls = served.rows(
        "SELECT run_id, ordinal, tool_name, tool_call_id, arguments, result, status FROM tool_calls "
        "WHERE run_id IN {runs:Array(String)}",
        runs=str(list(order)),
    )
    for rows in (model_calls, tool_calls):
        rows.sort(key=lambda row: (order[row["run_id"]], int(row["ordinal"])))
    return Views(runs, model_calls, tool_calls)
