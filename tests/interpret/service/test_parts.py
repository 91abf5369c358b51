"""Runs read in pages and written in parts, by another process, and runs that wait for the loader."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from fix_recordings import Recording
from interpreting import canonical, load, settled

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.interpret.service import dispatch as readings_module
from retrospan.ingest.interpret.service import interpreter as interpreter_module
from retrospan.ingest.interpret.service import worker as worker_module
from retrospan.ingest.interpret.service.dispatch import BatchRunner, TraceBatch
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.service.job import Job
from retrospan.ingest.interpret.service.jobs import interpret_job
from retrospan.ingest.load.raw_row_reader import span_pages, store_fetch
from retrospan.ingest.rules.ruleset import NO_RULES
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.ingest.warehouse.rows import column_types, insert_encoded


@pytest.mark.long
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
            interpreter.notice(*load(store, recording.traces))
            settled(interpreter)
            if own_process:
                worker = interpreter._runner.processes._workers[0]
                if worker._process is not None:  # it has ended by itself after a large batch
                    worker._process.kill()
                    worker._process.wait()
                interpreter.rebuild(lambda done, total: None)
            found.append(canonical(store))
            assert interpreter.counters.failures == 0
        finally:
            interpreter.stop()
    assert found[0] == found[1] == found[2]


def test_rows_that_nobody_goes_through_do_not_stand_in_the_way(
    recordings: dict[str, Recording], store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "HELD_BYTES", 0)
    _, last = load(store, recordings["langgraph-openinference/parallel"].traces)
    spans = BatchRunner(1, lambda tenant, run_id: True, NO_RULES)
    spans.begin(store)
    ((trace_id,),) = store.rows("SELECT DISTINCT trace_id FROM raw_spans")
    try:
        for wanted in (False, True):
            job = spans.job(store, TraceBatch("default", {str(trace_id): (last,)}, []))
            assert job is not None
            assert spans.processes.send(0, job)
            done = spans.processes.receive(0)
            assert done is not None
            assert done.is_large
            if wanted:
                assert [rows.table for rows in done.rows][-1] == TABLES["runs"]
    finally:
        spans.processes.stop()


def test_a_reading_in_pages_has_seen_what_was_known_before(
    recordings: dict[str, Recording], store: EmbeddedStore
) -> None:
    """What arrives between two pages may be in the later one only: it must be read again."""
    _, last = load(store, recordings["langgraph-openinference/parallel"].traces)
    ((trace_id,),) = store.rows("SELECT DISTINCT trace_id FROM raw_spans")
    types = {table: column_types(store, table) for table in TABLES.values()}
    job = Job("default", {str(trace_id): (0,)}, b"", 1, types, NO_RULES)
    seen = []
    for most in (1000, 2):
        pages = span_pages(store_fetch(store), "default", [str(trace_id)], most)
        done = interpret_job(replace(job, pages=pages))
        assert done is not None
        (traces,) = [rows for rows in done.rows if rows.table == TABLES["traces"]]
        insert_encoded(store, traces)
        seen += store.rows("SELECT through_sequence FROM canon_traces")
        store.command("TRUNCATE TABLE canon_traces")
    assert seen == [[last], [0]]


@pytest.mark.long
def test_runs_wait_while_the_loader_is_far_behind_but_not_for_who_asked(
    recordings: dict[str, Recording],
    store: EmbeddedStore,
    interpreter: Interpreter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interpreter_module, "FLOOD_PATIENCE_SECONDS", 1e9)
    is_flooded = True
    monkeypatch.setattr(interpreter, "_is_flooded", lambda: is_flooded)
    interpreter.notice(*load(store, recordings["langgraph-openinference/parallel"].traces))
    assert not interpreter.wait_idle(1.0)
    assert store.rows("SELECT count() FROM canon_runs") == [[0]]
    interpreter.rebuild(lambda done, total: None)
    assert store.rows("SELECT count() FROM canon_runs FINAL") == [[1]]
    interpreter.notice(*load(store, recordings["langgraph-openinference/normal"].traces))
    assert not interpreter.wait_idle(1.0)
    is_flooded = False
    settled(interpreter)
    assert store.rows("SELECT count() FROM canon_runs FINAL") == [[2]]
