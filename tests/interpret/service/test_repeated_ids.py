"""Executions that drew the same ids: the last to arrive is shown, by itself, and its run says that there are others."""

from __future__ import annotations

import json

import pytest
from interpreting import read_anew
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse

SECOND = 10**9
FIRST_AT, SECOND_AT = 1_760_000_000 * SECOND, 1_760_000_600 * SECOND
TRACE = bytes.fromhex("5e" * 16)


def told(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def execution(at: int, *answers: str) -> bytes:
    """An agent whose model answers so often; span ids are those of every other execution."""
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans

    def span(number: int, start: int, end: int, **attributes: str) -> None:
        made = spans.add(trace_id=TRACE, span_id=bytes([number] * 8), kind=3, name="span")
        made.parent_span_id = b"" if number == 1 else b"\x01" * 8
        made.start_time_unix_nano, made.end_time_unix_nano = start, end
        made.attributes.extend(
            KeyValue(key=f"gen_ai.{key.replace('__', '.')}", value=AnyValue(string_value=value))
            for key, value in attributes.items()
        )

    end = at + (len(answers) + 1) * SECOND
    span(
        1,
        at,
        end,
        operation__name="invoke_agent",
        agent__name="a",
        output__messages=told("assistant", answers[-1]),
    )
    for number, answer in enumerate(answers):
        start = at + (number + 1) * SECOND
        asked, said = told("user", f"Question {number}"), told("assistant", answer)
        span(
            2 + number,
            start,
            start + SECOND // 2,
            operation__name="chat",
            input__messages=asked,
            output__messages=said,
        )
    return request.SerializeToString()


LONG, SHORT = execution(FIRST_AT, "Wait.", "Ada."), execution(SECOND_AT, "Bob.")
RUNS = "SELECT output, model_calls FROM canon_runs FINAL"


def test_an_execution_is_not_mixed_with_another_that_had_the_same_ids(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse
) -> None:
    read_anew(store, warehouse, [LONG, SHORT], processes=0)
    assert store.rows(RUNS) == [["Bob.", 1]]
    ((field, raw, reason),) = store.rows("SELECT field, raw, reason FROM canon_problems")
    assert (field, raw) == ("trace_id", "1")
    assert str(reason).startswith("2 span(s) came again under the same ids with other times")


def test_of_the_longer_one_all_is_shown(store: EmbeddedStore, warehouse: EmbeddedWarehouse) -> None:
    read_anew(store, warehouse, [SHORT, LONG], processes=0)
    assert store.rows(RUNS) == [["Ada.", 2]]
    assert store.rows("SELECT count() FROM canon_problems") == [[1]]


@pytest.mark.parametrize(
    "again", [SHORT, execution(SECOND_AT, "Bob, I think.")], ids=["the same", "corrected"]
)
def test_a_span_that_comes_again_with_its_times_is_the_same_execution(
    store: EmbeddedStore, warehouse: EmbeddedWarehouse, again: bytes
) -> None:
    read_anew(store, warehouse, [SHORT, again], processes=0)
    assert store.rows("SELECT count() FROM canon_problems") == [[0]]
    assert store.rows("SELECT model_calls FROM canon_runs FINAL") == [[1]]
