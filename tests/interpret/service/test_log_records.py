"""Log records from the request to the views: which run each belongs to, what it says, and where what it judges is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from interpreting import load, settled
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from otlp_requests import logs, span, traces
from otlp_requests import record as sent_record

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.queries.catalogue import install

TRACE = bytes.fromhex("ab" * 16)
AT = 1_790_000_000_000_000_000


@pytest.fixture
def interpreter(warehouse: EmbeddedWarehouse, store: EmbeddedStore) -> Iterator[Interpreter]:
    install(store)
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), False)
    interpreter.start()
    yield interpreter
    interpreter.stop()


def answering(number: int, response_id: str, trace_id: bytes = TRACE) -> Span:
    made = span(trace_id=trace_id, span_id=number.to_bytes(8))
    made.start_time_unix_nano += number
    said = {
        "gen_ai.request.model": "m",
        "gen_ai.response.id": response_id,
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": f"answer {number}"}]}]
        ),
    }
    for key, value in said.items():
        made.attributes.add(key=key).value.string_value = value
    return made


def record(
    event: str = "",
    at: int = AT,
    said: dict[str, object] | None = None,
    *,
    span_id: int = 0,
    trace_id: bytes = TRACE,
) -> LogRecord:
    named = span_id.to_bytes(8) if span_id else b""
    return sent_record(event, at, said, trace_id=trace_id, span_id=named)


def evaluated(
    at: int = AT, said: dict[str, object] | None = None, *, span_id: int = 0, trace_id: bytes = TRACE
) -> LogRecord:
    named: dict[str, object] = {"gen_ai.evaluation.name": "x", "gen_ai.evaluation.score.value": 0.5}
    return record(
        "gen_ai.evaluation.result", at, {**named, **(said or {})}, span_id=span_id, trace_id=trace_id
    )


def of(response_id: str) -> dict[str, object]:
    return {"gen_ai.response.id": response_id}


def ask(store: EmbeddedStore, query: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in store.query(query, output_format="JSONEachRow").splitlines()]


def interpreted(
    interpreter: Interpreter, store: EmbeddedStore, spans: list[Span], records: list[LogRecord]
) -> None:
    sent = [traces(*spans).SerializeToString()] if spans else []
    interpreter.notice(*load(store, sent, [logs(*records).SerializeToString()] if records else []))
    settled(interpreter)


def test_an_evaluation_without_a_span_is_that_of_the_answer_that_it_names(
    interpreter: Interpreter, store: EmbeddedStore
) -> None:
    records = [
        evaluated(said=of("resp-2")),
        evaluated(AT + 1, of("of another run")),
        evaluated(AT + 2),
        evaluated(AT + 3, span_id=77),
    ]
    interpreted(interpreter, store, [answering(1, "resp-1"), answering(2, "resp-2")], records)
    (message,) = ask(store, "SELECT message_hash FROM messages WHERE model_call = 2 AND direction = 'output'")
    answer = {
        "step": 2,
        "span_id": f"{2:016x}",
        "judged": f"message:{message['message_hash']}",
        "response_id": "resp-2",
    }
    nowhere = {"step": None, "span_id": "", "judged": None, "response_id": None}
    query = "SELECT step, span_id, judged, response_id FROM evaluations ORDER BY at"
    assert ask(store, query) == [answer, {**nowhere, "response_id": "of another run"}, nowhere, nowhere]


def test_an_evaluation_that_comes_later_is_read_then_and_counts_once(
    interpreter: Interpreter, store: EmbeddedStore
) -> None:
    interpreted(interpreter, store, [answering(1, "resp-1")], [])
    assert ask(store, "SELECT name FROM evaluations") == []
    for _ in range(2):
        interpreted(interpreter, store, [], [evaluated(said=of("resp-1"))])
    assert ask(store, "SELECT name, score, step FROM evaluations") == [{"name": "x", "score": 0.5, "step": 1}]


def test_what_is_nested_in_a_record_is_shown_as_json(interpreter: Interpreter, store: EmbeddedStore) -> None:
    nested = record("gen_ai.user.message", span_id=1)
    inner = (
        nested.body.kvlist_value.values.add(key="message").value.kvlist_value.values.add(key="parts").value
    )
    inner.array_value.values.add().kvlist_value.values.add(key="content").value.CopyFrom(
        AnyValue(string_value='say "hi"\x1b')
    )
    nested.attributes.add(key="deep").value.CopyFrom(nested.body)
    nested.attributes.add(key="flat").value.int_value = 7
    outside = LogRecord()
    outside.CopyFrom(nested)
    outside.span_id, outside.time_unix_nano = b"", AT + 1
    interpreted(interpreter, store, [answering(1, "resp-1")], [nested, outside])
    value = {"message": {"parts": [{"content": 'say "hi"\x1b'}]}}
    rows = ask(store, "SELECT run_id, step, body, attributes FROM logs ORDER BY at")
    assert [(row["run_id"], row["step"]) for row in rows] == [(TRACE.hex(), 1), (TRACE.hex(), None)]
    for row in rows:
        assert json.loads(row["body"]) == json.loads(row["attributes"]["deep"]) == value
        assert row["attributes"]["flat"] == "7"


def test_an_exception_that_was_logged_says_why_a_call_failed(
    interpreter: Interpreter, store: EmbeddedStore
) -> None:
    failed = answering(1, "resp-1")
    failed.status.code = Status.STATUS_CODE_ERROR
    said: dict[str, object] = {"exception.type": "RateLimitError", "exception.message": "slow down"}
    interpreted(
        interpreter, store, [failed], [record("gen_ai.client.operation.exception", said=said, span_id=1)]
    )
    expected = [{"error_type": "RateLimitError", "error_message": "slow down"}]
    for view in ("failures", "model_calls"):
        assert ask(store, f"SELECT error_type, error_message FROM {view}") == expected
    assert ask(store, "SELECT failure_context FROM missing_layers") == [{"failure_context": False}]


def test_what_is_logged_on_a_span_that_never_ended_is_read(
    interpreter: Interpreter, store: EmbeddedStore
) -> None:
    begun: dict[str, object] = {
        "retrospan.begun.name": "chat m",
        "retrospan.begun.parent_span_id": "",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
    }
    records = [record("retrospan.begun", AT, begun, span_id=1), evaluated(AT + 1, span_id=1)]
    interpreted(interpreter, store, [], records)
    expected = {"step": 1, "span_id": f"{1:016x}", "name": "x", "judged": f"step:{TRACE.hex()}/1"}
    assert ask(store, "SELECT step, span_id, name, judged FROM evaluations") == [expected]


def test_a_megabyte_and_control_characters_go_through(interpreter: Interpreter, store: EmbeddedStore) -> None:
    explanation = "\x1b[31m\x00" + "ü" * 500_000
    interpreted(
        interpreter,
        store,
        [answering(1, "resp-1")],
        [evaluated(said={"gen_ai.evaluation.explanation": explanation}, span_id=1)],
    )
    assert ask(store, "SELECT explanation FROM evaluations") == [{"explanation": explanation}]


def test_a_record_of_a_trace_without_spans_is_a_record_of_no_run(
    interpreter: Interpreter, store: EmbeddedStore
) -> None:
    interpreted(interpreter, store, [], [evaluated(trace_id=b"\x01" * 16), record("boot", trace_id=b"")])
    assert ask(store, "SELECT run_id, event_name FROM logs ORDER BY event_name") == [
        {"run_id": "", "event_name": "boot"},
        {"run_id": "", "event_name": "gen_ai.evaluation.result"},
    ]
    assert ask(store, "SELECT name FROM evaluations") == []
