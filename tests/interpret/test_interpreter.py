"""The interpreter over the real engine: rows in, canonical rows out, the same whatever the order."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, cast

import pytest
from fix_recordings import Recording
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from spans import rows_of_recording

from retrospan.ingest.config import InterpreterSettings
from retrospan.ingest.interpret import batch as batch_module
from retrospan.ingest.interpret import interpreter as interpreter_module
from retrospan.ingest.interpret import readings as readings_module
from retrospan.ingest.interpret import worker as worker_module
from retrospan.ingest.interpret.interpreter import Interpreter
from retrospan.ingest.interpret.readings import Batch, Readings
from retrospan.ingest.interpret.run import VERSION, interpret
from retrospan.ingest.interpret.selection import Selection
from retrospan.ingest.interpret.worker import TABLES, Job, interpret_job
from retrospan.ingest.load.landing import insert_records
from retrospan.ingest.load.reading import span_pages, store_fetch
from retrospan.ingest.log.record import encode
from retrospan.ingest.rules.ruleset import NO_RULES
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.errors import BadRequest

_EXCLUDED = ("generation", "through_sequence", "through", "arrived_at", "interpreted_by")
_SEQUENCES = count(1)


@pytest.fixture
def interpreter(warehouse: EmbeddedWarehouse) -> Iterator[Interpreter]:
    running = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
    running.start()
    yield running
    running.stop()


def _load(store: EmbeddedStore, traces: Sequence[bytes], logs: Sequence[bytes] = ()) -> tuple[int, int]:
    """Put requests into the raw tables as log records; returns their first and last sequence."""
    sequences = []
    data = bytearray()
    for kind, bodies in (("traces", traces), ("logs", logs)):
        for body in bodies:
            sequence = next(_SEQUENCES)
            sequences.append(sequence)
            sent = {kind: body}
            parts, _ = encode(
                arrived_at=time.time_ns(),
                sequence=sequence,
                tenant="default",
                traces=sent.get("traces"),
                logs=sent.get("logs"),
            )
            data += b"".join(parts)
    insert_records(store, bytes(data), f"test-{sequences[0]}-{time.time_ns()}")
    return sequences[0], sequences[-1]


def _only(body: bytes, trace_id: str) -> bytes:
    """Return a request with the spans of one trace."""
    request = ExportTraceServiceRequest.FromString(body)
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            kept = [span for span in scope.spans if span.trace_id.hex() == trace_id]
            del scope.spans[:]
            scope.spans.extend(kept)
    return request.SerializeToString()


def batched(names: Sequence[str], size: int) -> list[Sequence[str]]:
    return [names[at : at + size] for at in range(0, len(names), size)]


def _canonical(store: EmbeddedStore) -> dict[str, list[list[object]]]:
    """Return the rows that readers see, without what may differ between two readings of the same spans."""
    found = {}
    for table in TABLES.values():
        named = store.rows(
            "SELECT name FROM system.columns WHERE database = 'retrospan' AND table = {table:String}",
            {"table": table},
        )
        columns = ", ".join(str(name) for (name,) in named if name not in _EXCLUDED)
        pointer = "canon_traces" if table in ("canon_traces", "canon_spans") else "canon_runs"
        key = "trace_id" if pointer == "canon_traces" else "run_id"
        final = "FINAL" if table in ("canon_traces", "canon_spans", "canon_runs") else ""
        found[table] = store.rows(
            f"SELECT {columns} FROM {table} {final} WHERE ({key}, generation) IN "
            f"(SELECT {key}, generation FROM {pointer} FINAL) ORDER BY ALL"
        )
    return found


def _settled(interpreter: Interpreter) -> None:
    assert interpreter.wait_idle(30)


def test_recordings_give_the_rows_of_the_pure_core(
    recordings: dict[str, Recording], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    for some in batched(sorted(recordings), 32):
        traces = [body for name in some for body in recordings[name].traces]
        logs = [body for name in some for body in recordings[name].logs]
        interpreter.notice(*_load(store, traces, logs))
    _settled(interpreter)
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
        "genai-openai.responses/multiturn",
        pytest.param("langgraph-openinference/diverge_a", marks=pytest.mark.long),
    ],
)
def test_order_splitting_and_duplicates_give_equal_rows(
    name: str, recordings: dict[str, Recording], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    recording = recordings[name]
    interpreter.notice(*_load(store, recording.traces, recording.logs))
    _settled(interpreter)
    expected = _canonical(store)
    chance = random.Random(7)
    for _ in range(3):
        for table in (*TABLES.values(), "raw_spans", "raw_logs", "arrivals"):
            store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})
        bodies = [("traces", body) for body in recording.traces] + [("logs", body) for body in recording.logs]
        bodies += chance.sample(bodies, len(bodies) // 2)
        chance.shuffle(bodies)
        for kind, body in bodies:
            interpreter.notice(
                *_load(store, [body] if kind == "traces" else [], [body] if kind == "logs" else [])
            )
            if chance.random() < 0.5:
                _settled(interpreter)
        _settled(interpreter)
        assert _canonical(store) == expected


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
        interpreter.notice(*_load(store, [*good.traces, *bad.traces]))
        _settled(interpreter)
    finally:
        interpreter.stop()
    assert store.rows("SELECT outcome, incomplete_because FROM canon_runs FINAL ORDER BY outcome") == [
        ["incomplete", "not_interpreted"],
        ["ok", None],
    ]
    ((reason,),) = store.rows("SELECT reason FROM canon_problems")
    assert "ZeroDivisionError: planted" in str(reason)


def test_a_new_start_reads_what_the_last_process_left(
    recordings: dict[str, Recording], store: EmbeddedStore, warehouse: EmbeddedWarehouse
) -> None:
    _load(store, recordings["genai-openai.span_only/normal"].traces)
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=3600.0))
    interpreter.start()
    try:
        _settled(interpreter)
        assert store.rows("SELECT outcome FROM canon_runs FINAL") == [["ok"]]
    finally:
        interpreter.stop()


def test_more_traces_than_memory_is_meant_for_are_all_read(
    recordings: dict[str, Recording], warehouse: EmbeddedWarehouse, store: EmbeddedStore
) -> None:
    names = ["pydantic-ai/normal", "langgraph-openinference/parallel", "strands/normal"]
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), most_waiting=1)
    interpreter.start()
    try:
        interpreter.notice(*_load(store, [body for name in names for body in recordings[name].traces]))
        _settled(interpreter)
        expected = store.rows("SELECT uniqExact(trace_id) FROM arrivals")[0][0]
        assert store.rows("SELECT uniqExact(trace_id) FROM canon_traces") == [[expected]]
        assert cast(int, expected) > 2
    finally:
        interpreter.stop()


def test_rebuild_reads_everything_again(
    recordings: dict[str, Recording], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    interpreter.notice(*_load(store, recordings["langgraph-openinference/multiturn"].traces))
    _settled(interpreter)
    expected = _canonical(store)
    generations = store.rows("SELECT max(generation) FROM canon_runs")
    told: list[tuple[int, int]] = []
    assert interpreter.rebuild(lambda done, total: told.append((done, total))) == 2
    assert told[-1] == (2, 2)
    assert store.rows("SELECT max(generation) FROM canon_runs") > generations
    assert _canonical(store) == expected


def test_a_selection_reads_only_the_runs_that_fit(
    recordings: dict[str, Recording], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    names = ("langgraph-openinference/normal", "pydantic-ai/normal", "langgraph-openinference/parallel")
    for name in names:
        interpreter.notice(*_load(store, recordings[name].traces))
    _settled(interpreter)

    def generations() -> dict[str, int]:
        rows = store.rows("SELECT run_id, generation FROM canon_runs FINAL")
        return {str(run_id): int(str(generation)) for run_id, generation in rows}

    def reread(**conditions: Any) -> set[str]:
        before, expected = generations(), _canonical(store)
        count = interpreter.rebuild(lambda done, total: None, Selection.of(conditions))
        changed = {run_id for run_id, generation in generations().items() if generation > before[run_id]}
        assert count == len(changed)
        assert _canonical(store) == expected
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


@pytest.mark.parametrize("family", ["langgraph-langsmith", "langgraph-openinference", "langgraph-traceloop"])
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
            interpreter.notice(*_load(store, some))
            _settled(interpreter)
        found = store.rows(
            "SELECT run_id, parent_run_id, parent_link, origin_run_id FROM canon_runs FINAL ORDER BY started_at"
        )
        assert found == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"runs": "r"}, "knows no 'runs'"),
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
    _load(store, recordings["langgraph-openinference/normal"].traces)
    interpreter.start()
    try:
        _settled(interpreter)
        # Never due while this test runs: it stands for ingest that does not pause.
        interpreter.notice(*_load(store, recordings["pydantic-ai/normal"].traces))
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


def test_the_other_process_gives_the_same_rows_and_may_be_killed(
    recordings: dict[str, Recording],
    warehouse: EmbeddedWarehouse,
    store: EmbeddedStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recording = recordings["langgraph-openinference/parallel"]
    found = []
    for own_process, in_parts in ((False, False), (True, False), (True, True)):
        if in_parts:
            monkeypatch.setattr(readings_module, "span_pages", partial(span_pages, most=2))
            monkeypatch.setattr(worker_module, "HELD_BYTES", 0)
        for table in (*TABLES.values(), "raw_spans", "raw_logs", "arrivals"):
            store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})
        interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), own_process)
        interpreter.start()
        try:
            interpreter.notice(*_load(store, recording.traces))
            _settled(interpreter)
            if own_process:
                worker = interpreter._readings._worker
                assert worker is not None
                if worker._process is not None:  # it has ended by itself after a large batch
                    worker._process.kill()
                    worker._process.wait()
                interpreter.rebuild(lambda done, total: None)
            found.append(_canonical(store))
            assert interpreter.counters.failures == 0
        finally:
            interpreter.stop()
    assert found[0] == found[1] == found[2]


def test_rows_that_nobody_goes_through_do_not_stand_in_the_way(
    recordings: dict[str, Recording], store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "HELD_BYTES", 0)
    _, last = _load(store, recordings["langgraph-openinference/parallel"].traces)
    readings = Readings(True, lambda tenant, run_id: True, NO_RULES)
    readings.begin(store)
    ((trace_id,),) = store.rows("SELECT DISTINCT trace_id FROM raw_spans")
    try:
        for wanted in (False, True):
            job = readings.job(store, Batch("default", {str(trace_id): (last,)}, []))
            assert job is not None
            assert readings.send(job)
            done = readings.receive()
            assert done is not None
            assert done.is_large
            if wanted:
                assert [rows.table for rows in done.rows][-1] == TABLES["runs"]
    finally:
        readings.stop()


def test_a_reading_in_pages_has_seen_what_was_known_before(
    recordings: dict[str, Recording], store: EmbeddedStore
) -> None:
    """What arrives between two pages may be in the later one only: it must be read again."""
    _, last = _load(store, recordings["langgraph-openinference/parallel"].traces)
    ((trace_id,),) = store.rows("SELECT DISTINCT trace_id FROM raw_spans")
    timed = dict.fromkeys(TABLES.values(), frozenset[str]())
    job = Job("default", {str(trace_id): (0,)}, b"", 1, timed, NO_RULES)
    seen = []
    for most in (1000, 2):
        pages = span_pages(store_fetch(store), "default", [str(trace_id)], most)
        done = interpret_job(replace(job, pages=pages))
        assert done is not None
        (traces,) = [rows for rows in done.rows if rows.table == TABLES["traces"]]
        row = dict(zip(traces.columns, json.loads(traces.data), strict=True))
        seen.append(row["through_sequence"])
    assert seen == [last, 0]


def test_runs_wait_while_the_loader_is_far_behind_but_not_for_who_asked(
    recordings: dict[str, Recording],
    store: EmbeddedStore,
    interpreter: Interpreter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interpreter_module, "FLOOD_PATIENCE_SECONDS", 1e9)
    is_flooded = True
    interpreter.is_flooded = lambda: is_flooded
    interpreter.notice(*_load(store, recordings["langgraph-openinference/parallel"].traces))
    assert not interpreter.wait_idle(1.0)
    assert store.rows("SELECT count() FROM canon_runs") == [[0]]
    interpreter.rebuild(lambda done, total: None)
    assert store.rows("SELECT count() FROM canon_runs FINAL") == [[1]]
    interpreter.notice(*_load(store, recordings["langgraph-openinference/normal"].traces))
    assert not interpreter.wait_idle(1.0)
    is_flooded = False
    _settled(interpreter)
    assert store.rows("SELECT count() FROM canon_runs FINAL") == [[2]]
