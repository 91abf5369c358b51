"""The interpreter over the real engine: rows in, canonical rows out, the same whatever the order."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest
from bench.long_run import LongRun, requests_of
from fix_recordings import Recording, taken
from interpreting import canonical, emptied, load, settled
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from spans import rows_of_recording

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.interpret.run import interpret
from retrospan.ingest.interpret.service import batch as batch_module
from retrospan.ingest.interpret.service.dependents import dependent_runs
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.service.selection import Selection
from retrospan.ingest.interpret.version import VERSION
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.errors import BadRequest, WarehouseUnavailable


def _only(body: bytes, trace_id: str) -> bytes:
    """Return a request with the spans of one trace."""
    request = ExportTraceServiceRequest.FromString(body)
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            kept = [span for span in scope.spans if span.trace_id.hex() == trace_id]
            del scope.spans[:]
            scope.spans.extend(kept)
    return request.SerializeToString()


def halves(bodies: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return requests with the earlier half of all spans, and others with the rest."""
    ends = sorted(
        span.end_time_unix_nano
        for body in bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    )
    parts: tuple[list[bytes], list[bytes]] = ([], [])
    for body in bodies:
        for part, is_late in zip(parts, (False, True), strict=True):
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    kept = [
                        each
                        for each in scope.spans
                        if (each.end_time_unix_nano >= ends[len(ends) // 2]) == is_late
                    ]
                    del scope.spans[:]
                    scope.spans.extend(kept)
            part.append(request.SerializeToString())
    return parts


def batched(names: Sequence[str], size: int) -> list[Sequence[str]]:
    return [names[at : at + size] for at in range(0, len(names), size)]


@pytest.mark.long
def test_recordings_give_the_rows_of_the_pure_core(
    recordings: dict[str, Recording], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    for some in batched(sorted(recordings), 32):
        traces = [body for name in some for body in recordings[name].traces]
        logs = [body for name in some for body in recordings[name].logs]
        interpreter.notice(*load(store, traces, logs))
    settled(interpreter)
    expected = {
        rows.runs[0].run_id: rows
        for recording in recordings.values()
        for rows in rows_of_recording(recording)
    }
    runs = store.rows("SELECT run_id, steps, model_calls, tool_calls, outcome, output FROM canon_runs FINAL")
    assert len(runs) == len(expected)
    for run_id, steps, models, tools, outcome, output in runs:
        want = expected[str(run_id)].runs[0]
        assert (steps, models, tools, outcome, output) == (
            want.steps,
            want.model_calls,
            want.tool_calls,
            want.outcome,
            want.output,
        )
    calls = store.rows(
        "SELECT run_id, ordinal, call_hash, input_hash, output_hash FROM canon_model_calls "
        "WHERE (run_id, generation) IN (SELECT run_id, generation FROM canon_runs FINAL)"
    )
    assert sorted(map(tuple, calls)) == sorted(
        (run_id, call.ordinal, call.call_hash, call.input_hash, call.output_hash)
        for run_id, rows in expected.items()
        for call in rows.model_calls
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("genai-openai.responses/multiturn", marks=pytest.mark.soak),
        pytest.param("langgraph-openinference/diverge_a", marks=pytest.mark.long),
    ],
)
def test_order_splitting_and_duplicates_give_equal_rows(
    name: str, recordings: dict[str, Recording], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    recording = recordings[name]
    interpreter.notice(*load(store, recording.traces, recording.logs))
    settled(interpreter)
    expected = canonical(store)
    chance = random.Random(7)
    for _ in range(3):
        for table in (*TABLES.values(), "raw_spans", "raw_logs", "arrivals"):
            store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})
        bodies = [("traces", body) for body in recording.traces] + [("logs", body) for body in recording.logs]
        bodies += chance.sample(bodies, len(bodies) // 2)
        chance.shuffle(bodies)
        for kind, body in bodies:
            interpreter.notice(
                *load(store, [body] if kind == "traces" else [], [body] if kind == "logs" else [])
            )
            if chance.random() < 0.5:
                settled(interpreter)
        settled(interpreter)
        assert canonical(store) == expected


def test_a_broken_run_is_listed_and_holds_up_no_other(
    recordings: dict[str, Recording],
    warehouse: EmbeddedWarehouse,
    store: EmbeddedStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good, bad = recordings["genai-openai.span_only/normal"], recordings["langgraph-openinference/normal"]
    (broken,) = (rows.runs[0].run_id for rows in rows_of_recording(bad))

    def fails_for_one(run_id: str, *others: object) -> object:
        if run_id == broken:
            raise ZeroDivisionError("planted")
        return interpret(run_id, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(batch_module, "interpret", fails_for_one)
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), own_process=False)
    interpreter.start()
    try:
        interpreter.notice(*load(store, [*good.traces, *bad.traces]))
        settled(interpreter)
    finally:
        interpreter.stop()
    assert store.rows("SELECT outcome, incomplete_because FROM canon_runs FINAL ORDER BY outcome") == [
        ["incomplete", "not_interpreted"],
        ["ok", None],
    ]
    ((reason,),) = store.rows("SELECT DISTINCT reason FROM canon_problems")
    assert "ZeroDivisionError: planted" in str(reason)


def test_a_run_whose_root_span_has_ended_is_read_at_once(
    recordings: dict[str, Recording], store: EmbeddedStore, warehouse: EmbeddedWarehouse
) -> None:
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=3600.0))
    interpreter.start()
    try:
        interpreter.notice(*load(store, recordings["genai-openai.span_only/normal"].traces))
        settled(interpreter)
        assert store.rows("SELECT outcome FROM canon_runs FINAL") == [["ok"]]
    finally:
        interpreter.stop()


def test_a_new_start_reads_what_the_last_process_left(
    recordings: dict[str, Recording], store: EmbeddedStore, warehouse: EmbeddedWarehouse
) -> None:
    load(store, recordings["genai-openai.span_only/normal"].traces)
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=3600.0))
    interpreter.start()
    try:
        settled(interpreter)
        assert store.rows("SELECT outcome FROM canon_runs FINAL") == [["ok"]]
    finally:
        interpreter.stop()


@pytest.mark.soak
def test_more_traces_than_memory_is_meant_for_are_all_read(
    recordings: dict[str, Recording], warehouse: EmbeddedWarehouse, store: EmbeddedStore
) -> None:
    names = ["pydantic-ai/normal", "langgraph-openinference/parallel", "strands/normal"]
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), most_waiting=1)
    interpreter.start()
    try:
        interpreter.notice(*load(store, [body for name in names for body in recordings[name].traces]))
        settled(interpreter)
        expected = store.rows("SELECT uniqExact(trace_id) FROM arrivals")[0][0]
        assert store.rows("SELECT uniqExact(trace_id) FROM canon_traces") == [[expected]]
        assert cast(int, expected) > 2
    finally:
        interpreter.stop()


def test_rebuild_reads_everything_again(
    recordings: dict[str, Recording], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    interpreter.notice(*load(store, recordings["langgraph-openinference/multiturn"].traces))
    settled(interpreter)
    expected = canonical(store)
    generations = store.rows("SELECT max(generation) FROM canon_runs")
    told: list[tuple[int, int]] = []
    assert interpreter.rebuild(lambda done, total: told.append((done, total))) == 2
    assert told[-1] == (2, 2)
    assert store.rows("SELECT max(generation) FROM canon_runs") > generations
    assert canonical(store) == expected


@pytest.mark.long
def test_a_selection_reads_only_the_runs_that_fit(
    recordings: dict[str, Recording], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    names = ("langgraph-openinference/normal", "pydantic-ai/normal", "langgraph-openinference/parallel")
    for name in names:
        interpreter.notice(*load(store, recordings[name].traces))
    settled(interpreter)

    def generations() -> dict[str, int]:
        rows = store.rows("SELECT run_id, generation FROM canon_runs FINAL")
        return {str(run_id): int(str(generation)) for run_id, generation in rows}

    def reread(**conditions: Any) -> set[str]:
        before, expected = generations(), canonical(store)
        count = interpreter.rebuild(lambda done, total: None, Selection.of(conditions))
        changed = {run_id for run_id, generation in generations().items() if generation > before[run_id]}
        assert count == len(changed)
        assert canonical(store) == expected
        return changed

    rows = store.rows("SELECT run_id, toUnixTimestamp64Nano(started_at), dialects FROM canon_runs FINAL")
    (other,) = (str(run_id) for run_id, _, dialects in rows if "langchain" not in str(dialects))
    everything = {str(run_id) for run_id, _, _ in rows}
    (dialect,) = next(cast("list[str]", dialects) for run_id, _, dialects in rows if run_id == other)
    starts = sorted((int(str(start)), str(run_id)) for run_id, start, _ in rows)
    assert reread(run=other) == {other}
    assert reread(dialect=dialect) == {other}
    assert reread(version=VERSION) == everything
    assert reread(version="0") == set()
    assert reread(since=starts[1][0]) == {starts[1][1], starts[2][1]}
    assert reread(until=starts[1][0]) == {starts[0][1]}
    assert reread(since=starts[1][0], until=starts[1][0] + 1) == {starts[1][1]}
    assert reread(run=other, dialect="nobody") == set()


@pytest.mark.parametrize(
    "family",
    [
        pytest.param("langgraph-langsmith", marks=pytest.mark.soak),
        pytest.param("langgraph-openinference", marks=pytest.mark.long),
        pytest.param("langgraph-traceloop", marks=pytest.mark.soak),
    ],
)
def test_a_run_after_an_interruption_names_the_one_it_resumes_whatever_came_first(
    family: str, recordings: dict[str, Recording], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    rows = rows_of_recording(recordings[f"{family}/interrupt"])
    first, second = (row.runs[0] for row in sorted(rows, key=lambda row: row.runs[0].started_at))
    assert (first.incomplete_because, second.parent_link) == ("interrupted", "resumes")
    bodies = recordings[f"{family}/interrupt"].traces
    of_first, of_second = ([_only(body, run.run_id) for body in bodies] for run in (first, second))
    expected = [
        [first.run_id, None, None, first.run_id],
        [second.run_id, first.run_id, "resumes", first.run_id],
    ]
    for order in ([[*bodies]], [of_first, of_second], [of_second, of_first]):
        for table in (*TABLES.values(), "raw_spans", "raw_logs", "arrivals"):
            store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})
        for some in order:
            interpreter.notice(*load(store, some))
            settled(interpreter)
        found = store.rows(
            "SELECT run_id, parent_run_id, parent_link, origin_run_id FROM canon_runs FINAL ORDER BY started_at"
        )
        assert found == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"runs": "r"}, "does not take 'runs'"),
        ({"run": 1}, "'run' is 1: give a text"),
        ({"since": "2h"}, "'since' is '2h': give Unix nanoseconds"),
        ({"since": True}, "'since' is True"),
        ({"until": -1}, "'until' is -1"),
    ],
    ids=["unknown", "number for text", "text for time", "bool for time", "negative time"],
)
def test_a_selection_that_cannot_be_meant_is_refused(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        Selection.of(arguments)


def test_a_rebuild_ends_although_something_else_always_waits(
    recordings: dict[str, Recording], store: EmbeddedStore, warehouse: EmbeddedWarehouse
) -> None:
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=3600.0))
    load(store, recordings["langgraph-openinference/normal"].traces)
    interpreter.start()
    try:
        settled(interpreter)
        # Never due while this test runs, for its root span has not come: it stands for ingest that does not pause.
        spans = [*LongRun(7, seed=1).spans()]
        interpreter.notice(*load(store, [*requests_of([span for span in spans if span.parent_span_id], 500)]))
        before = store.rows("SELECT generation FROM canon_runs FINAL")
        assert interpreter.rebuild(lambda done, total: None, Selection(version=VERSION)) == 1
        assert store.rows("SELECT generation FROM canon_runs FINAL") > before
        assert interpreter.lag_traces == 1
    finally:
        interpreter.stop()


def test_idle_and_lag_are_told_from_any_thread(interpreter: Interpreter) -> None:
    answers: list[tuple[bool, int, float]] = []
    asking = threading.Thread(
        target=lambda: answers.append(
            (interpreter.wait_idle(5), interpreter.lag_traces, interpreter.lag_seconds)
        )
    )
    asking.start()
    asking.join()
    assert answers == [(True, 0, 0.0)]


@pytest.mark.long
def test_a_turn_that_leaves_out_earlier_calls_has_them_from_the_run_before_whatever_came_first(
    store: EmbeddedStore, interpreter: Interpreter
) -> None:
    recording = taken()["langgraph-openlit/multiturn"]
    first, second = (row.runs[0].run_id for row in rows_of_recording(recording))
    of_first, of_second = ([_only(body, run) for body in recording.traces] for run in (first, second))
    expected: dict[str, list[list[object]]] | None = None
    for order in ([of_first, of_second], [of_second, of_first], [[*of_first, *of_second]]):
        for table in (*TABLES.values(), "raw_spans", "raw_logs", "arrivals"):
            store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})
        for some in order:
            interpreter.notice(*load(store, some))
            settled(interpreter)
        found = store.rows("SELECT run_id, history_run_id FROM canon_runs FINAL ORDER BY started_at")
        assert found == [[first, None], [second, first]]
        histories = store.rows(
            "SELECT run_id, history FROM canon_model_calls WHERE (run_id, generation) IN "
            "(SELECT run_id, generation FROM canon_runs FINAL) AND run_id = {run:String}",
            {"run": second},
        )
        assert histories == [[second, "inferred"]] * 2
        expected = expected or canonical(store)
        assert canonical(store) == expected


@pytest.mark.long
def test_a_turn_whose_run_before_it_changed_is_read_again_though_nobody_could_note_it(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = taken()["langgraph-openlit/multiturn"]
    first, second = (row.runs[0].run_id for row in rows_of_recording(recording))
    of_first, of_second = ([_only(body, run) for body in recording.traces] for run in (first, second))
    early, late = halves(of_first)
    failing = [False]

    def failing_once(*asked: Any) -> Iterator[tuple[str, list[str]]]:
        if failing[0]:
            failing[0] = False
            raise WarehouseUnavailable("the connection is gone")
        return dependent_runs(*asked)

    monkeypatch.setattr("retrospan.ingest.interpret.service.result_writer.dependent_runs", failing_once)
    found = []
    for fails in (False, True):
        emptied(store)
        interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
        interpreter.start()
        try:
            for some in (early, of_second):
                interpreter.notice(*load(store, some))
                settled(interpreter)
            before = canonical(store)
            failing[0] = fails
            interpreter.notice(*load(store, late))
            settled(interpreter)
            assert interpreter.counters.failures == fails
        finally:
            interpreter.stop()
        found.append(canonical(store))
        assert found[-1] != before
    assert found[0] == found[1]
