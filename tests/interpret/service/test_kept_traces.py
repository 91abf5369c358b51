"""What the interpreting process keeps of runs that go on: it gives the same rows, is bounded, and goes with what is deleted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from arriving import single_records, single_spans
from bench.long_run import LongRun, requests_of
from fix_recordings import Recording
from interpreting import canonical, load, settled
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from spans import spans_of_requests

from retrospan.ingest.interpret.normalize.kept_readings import KeptReadings
from retrospan.ingest.interpret.run import read_spans
from retrospan.ingest.interpret.service.dispatch import BatchRunner, TraceBatch
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.service.job import Job
from retrospan.ingest.interpret.service.kept_traces import KeptTraces
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.rules.ruleset import NO_RULES
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.attributes import RUN_ID


@pytest.fixture
def living(warehouse: EmbeddedWarehouse) -> Iterator[Interpreter]:
    """An interpreter with its own process that waits for nothing."""
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
    interpreter.start()
    yield interpreter
    interpreter.stop()


@pytest.mark.parametrize(
    "name",
    [
        "langgraph-openinference/parallel",
        pytest.param("genai-openai.event_only/normal", marks=pytest.mark.long),
    ],
)
def test_a_run_read_as_it_grows_has_the_rows_of_one_that_is_read_whole(
    name: str, recordings: dict[str, Recording], store: EmbeddedStore, living: Interpreter
) -> None:
    recording = recordings[name]
    pieces = [("traces", body) for body in single_spans(recording.traces)]
    pieces += [("logs", body) for body in single_records(recording.logs)]
    random.Random(3).shuffle(pieces)
    size = -(-len(pieces) // 3)
    for at in range(0, len(pieces), size):
        some = pieces[at : at + size]
        living.notice(
            *load(
                store,
                [body for kind, body in some if kind == "traces"],
                [body for kind, body in some if kind == "logs"],
            )
        )
        settled(living)
    assert living.counters.known_spans > 0
    grown, known = canonical(store), living.counters.known_spans
    living.rebuild(lambda done, total: None)
    settled(living)
    assert canonical(store) == grown
    assert living.counters.known_spans == known, "who asks for a rebuild gets nothing that was kept"
    assert living.counters.failures == living.counters.broken == 0


@pytest.mark.parametrize(
    ("claims", "elsewhere", "sent", "known"),
    [
        pytest.param({}, 0, 3, 0 + 3 + 6, id="by-itself"),
        pytest.param({RUN_ID: "one"}, 0, 3, 0 + 3 + 6, id="names-a-run", marks=pytest.mark.long),
        # What leads elsewhere cannot be read by itself, and that is known from then on.
        pytest.param(
            {RUN_ID: "one"}, 1, 1, (1 + 3) + (1 + 3) + (1 + 6), id="leads-elsewhere", marks=pytest.mark.long
        ),
    ],
)
def test_a_run_that_may_go_on_from_another_is_read_once_at_a_time(
    claims: dict[str, str],
    elsewhere: int,
    sent: int,
    known: int,
    store: EmbeddedStore,
    living: Interpreter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spans, jobs = [*LongRun(30, seed=5).spans()], list[Job]()
    if elsewhere:
        (other, *_) = LongRun(30, seed=6).spans()
        other.attributes.add(key=RUN_ID).value.string_value = claims[RUN_ID]
        living.notice(*load(store, [*requests_of([other], 1)]))
        settled(living)
    read = living.counters.spans
    send = living._runner.processes.send

    def noted(place: int, job: Job) -> bool:
        jobs.append(job)
        return send(place, job)

    monkeypatch.setattr(living._runner.processes, "send", noted)
    for key, value in claims.items():
        for span in spans:
            span.attributes.add(key=key).value.string_value = value
    for at in (0, 3, 6):
        request = ExportTraceServiceRequest()
        request.resource_spans.add().scope_spans.add().spans.extend(spans[at : at + 3])
        living.notice(*load(store, [request.SerializeToString()]))
        settled(living)
    assert len(jobs) == sent
    assert living.counters.spans - read == (3 + 6 + 9) + 3 * elsewhere
    assert living.counters.known_spans == known
    assert store.rows("SELECT model_calls FROM canon_runs FINAL WHERE NOT deleted") == [[3 + elsewhere]]


def test_nothing_is_kept_of_runs_once_some_are_deleted(
    recordings: dict[str, Recording], store: EmbeddedStore, living: Interpreter
) -> None:
    living.notice(*load(store, single_spans(recordings["langgraph-openinference/parallel"].traces)[:3]))
    settled(living)
    worker = living._runner.processes._workers[0]
    assert worker.is_running
    ((trace_id,),) = store.rows("SELECT DISTINCT trace_id FROM raw_spans")
    with living.deleting("default", [str(trace_id)]):
        pass
    assert not worker.is_running


def test_what_is_under_way_is_answered_before_all_is_forgotten(
    recordings: dict[str, Recording], store: EmbeddedStore
) -> None:
    _, last = load(store, recordings["langgraph-openinference/parallel"].traces)
    ((trace_id,),) = store.rows("SELECT DISTINCT trace_id FROM raw_spans")
    runner = BatchRunner(1, lambda tenant, run_id: True, NO_RULES)
    runner.begin(store)
    (worker,) = runner.processes._workers
    try:
        for is_forgotten in (True, False):
            job = runner.job(store, TraceBatch("default", {str(trace_id): (last,)}, []))
            assert job is not None
            assert runner.processes.send(0, job)
            if is_forgotten:
                runner.processes.forget()
            assert worker.is_running
            done = runner.processes.receive(0)
            assert done is not None
            assert done.runs
            assert worker.is_running is not is_forgotten
    finally:
        runner.processes.stop()


def _living(recording: Recording) -> list[Span]:
    """Return spans of a run whose root has not come."""
    return [span for span in spans_of_requests(recording.traces) if span.parent_span_id]


def test_the_least_recently_read_goes_first_and_what_has_ended_at_once(
    recordings: dict[str, Recording],
) -> None:
    spans = _living(recordings["langgraph-openinference/parallel"])
    single = KeptReadings()
    read_spans(spans, ParseIssues(), reader=single)
    kept = KeptTraces(most_bytes=2 * single.size)

    def read(trace_id: str, own: list[Span]) -> int:
        read_spans(own, ParseIssues(), reader=kept.reader("default", trace_id, own))
        kept.settle()
        known, kept.known = kept.known, 0
        return known

    assert [read(trace_id, spans) for trace_id in "abac"] == [0, 0, len(spans), 0]
    assert kept.size == 2 * single.size
    assert [read(trace_id, spans) for trace_id in "acb"] == [len(spans), len(spans), 0]
    root = replace(spans[0], span_id="f" * 16, parent_span_id="")
    assert read("c", [*spans, root]) == len(spans)
    assert kept.size == single.size
    assert read("d", [*spans, root]) == 0
    assert kept.size == single.size
    kept.clear()
    assert kept.size == 0


def test_another_tenant_with_the_same_trace_knows_nothing_of_it(recordings: dict[str, Recording]) -> None:
    spans = _living(recordings["langgraph-openinference/parallel"])
    kept = KeptTraces()
    for tenant in ("one", "other"):
        reader = kept.reader(tenant, "a", spans)
        read_spans(spans, ParseIssues(), reader=reader)
        assert reader.known == 0
