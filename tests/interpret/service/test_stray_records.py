"""Log records of no trace that tell what a model answered: found for their call, whenever they come."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from interpreting import canonical, load, settled
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_requests import logs, span, traces
from otlp_requests import record as sent_record

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.spans.span_fields import DETAILS_EVENT
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse

TRACE, SESSION, MODEL = bytes.fromhex("ab" * 16), "session-4f1c", "m-1-0126"
ANSWERED = {"gen_ai.usage.output_tokens": 7, "gen_ai.response.model": MODEL, "gen_ai.response.id": "resp-1"}


@pytest.fixture
def interpreter(warehouse: EmbeddedWarehouse, store: EmbeddedStore) -> Iterator[Interpreter]:
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), False)
    interpreter.start()
    yield interpreter
    interpreter.stop()


def called() -> tuple[Span, LogRecord]:
    """A model call that says nothing of who answered, and the record of its request."""
    made = span(trace_id=TRACE, span_id=b"\1" * 8)
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "Snow."}]}]
    for key, value in {
        "gen_ai.request.model": "m-1",
        "gen_ai.conversation.id": SESSION,
        "gen_ai.output.messages": json.dumps(answer),
    }.items():
        made.attributes.add(key=key).value.string_value = value
    made.attributes.add(key="gen_ai.usage.output_tokens").value.int_value = 7
    asked: dict[str, object] = {"gen_ai.request.model": "m-1"}
    at = made.start_time_unix_nano
    return made, sent_record(DETAILS_EVENT, at, asked, trace_id=TRACE, span_id=b"\1" * 8)


def stray(at: int, session: str = SESSION) -> LogRecord:
    return sent_record(DETAILS_EVENT, at, {**ANSWERED, "session.id": session}, trace_id=b"", span_id=b"")


def answerers(store: EmbeddedStore) -> list[object]:
    rows = store.rows(
        "SELECT response_model FROM canon_model_calls WHERE (run_id, generation) IN "
        "(SELECT run_id, generation FROM canon_runs FINAL)"
    )
    return [model for (model,) in rows]


def test_a_record_of_no_trace_is_found_whenever_it_comes(
    interpreter: Interpreter, store: EmbeddedStore
) -> None:
    made, request = called()
    interpreter.notice(*load(store, [traces(made).SerializeToString()], [logs(request).SerializeToString()]))
    settled(interpreter)
    assert answerers(store) == [None]
    of_another = stray(made.end_time_unix_nano, "session-9e9e")
    interpreter.notice(*load(store, [], [logs(of_another).SerializeToString()]))
    settled(interpreter)
    assert answerers(store) == [None]
    for _ in range(2):
        late = logs(stray(made.end_time_unix_nano)).SerializeToString()
        interpreter.notice(*load(store, [], [late]))
        settled(interpreter)
        assert answerers(store) == [MODEL]
    before = canonical(store)
    assert interpreter.rebuild(lambda done, of: None) == 1
    assert canonical(store) == before


def test_after_a_crash_the_last_records_are_looked_at_again(
    warehouse: EmbeddedWarehouse, store: EmbeddedStore, interpreter: Interpreter
) -> None:
    made, request = called()
    interpreter.notice(*load(store, [traces(made).SerializeToString()], [logs(request).SerializeToString()]))
    settled(interpreter)
    interpreter.stop()
    load(store, [], [logs(stray(made.end_time_unix_nano)).SerializeToString()])
    again = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), False)
    again.start()
    try:
        settled(again)
        assert answerers(store) == [MODEL]
    finally:
        again.stop()


@pytest.mark.long
def test_in_a_process_of_its_own_too(warehouse: EmbeddedWarehouse, store: EmbeddedStore) -> None:
    made, request = called()
    records = logs(request, stray(made.end_time_unix_nano)).SerializeToString()
    load(store, [traces(made).SerializeToString()], [records])
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
    interpreter.start()
    try:
        settled(interpreter)
        assert answerers(store) == [MODEL]
    finally:
        interpreter.stop()
