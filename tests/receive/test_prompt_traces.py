"""Log records of no trace that tell what an agent did get the trace of their prompt; no other byte of a request changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from otlp_requests import logs, record

from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.otlp.prompt_traces import LONGEST_ID, trace_of_prompt, with_traces
from retrospan.ingest.receive.intake import Intake
from retrospan.schemas.attributes import TRACE_MADE_OF

AT = 1_790_000_000 * 10**9
OF_PROMPT = {"session.id": "s-1", "prompt.id": "p-1", "event.name": "api_request"}


@pytest.fixture
def log(tmp_path: Path) -> Iterator[WriteAheadLog]:
    log = WriteAheadLog.open(tmp_path, low_water_bytes=0, limit_bytes=200_000)
    yield log
    log.close()


def after(*sent: LogRecord) -> list[LogRecord]:
    """The same records once they have passed the door."""
    request = ExportLogsServiceRequest.FromString(with_traces(logs(*sent).SerializeToString()))
    return [*request.resource_logs[0].scope_logs[0].log_records]


def made_of(found: LogRecord) -> list[str]:
    return [pair.value.string_value for pair in found.attributes if pair.key == TRACE_MADE_OF]


def test_records_of_one_prompt_are_of_one_trace_and_say_why() -> None:
    asked = record(at=AT, said=OF_PROMPT, body="claude_code.api_request")
    done = record("codex.tool_result", AT + 1, {"prompt_id": "p-1", "conversation.id": "s-1"})
    other = record(at=AT, said={**OF_PROMPT, "prompt.id": "p-2"})
    session = record("", AT, {"session.id": "s-1", "event.name": "gemini_cli.user_prompt"})
    begun = record(at=AT, said={"session.id": "s-1", "event.name": "started"}, body="claude_code.started")
    found = after(asked, done, other, session, begun)
    ids = [each.trace_id for each in found]
    assert ids[0] == ids[1] == trace_of_prompt(b"s-1", b"p-1")
    assert ids[3] == ids[4] and len({*ids}) == 3 and all(len(each) == 16 for each in ids)
    assert [made_of(each) for each in found] == [
        ["session.id, prompt.id"],
        ["conversation.id, prompt_id"],
        ["session.id, prompt.id"],
        ["session.id"],
        ["session.id"],
    ]


@pytest.mark.parametrize(
    "sent",
    [
        record("api_request", AT, OF_PROMPT, trace_id=b"t" * 16),
        record("api_request", AT, OF_PROMPT, span_id=b"s" * 8),
        record("gen_ai.client.inference.operation.details", AT, OF_PROMPT),
        record("click", AT, {"session.id": "s-1"}),
        record("api_request", AT, {"prompt.id": "p-1"}),
        record("api_request", AT, {"session.id": ""}),
        record("api_request", AT, {"session.id": "s" * (LONGEST_ID + 1)}),
        record("x" * 200 + ".api_request", AT, {"session.id": "s-1"}),
        record("api_request", AT, {"session.id": 7.0}),
    ],
)
def test_all_other_records_keep_their_bytes(sent: LogRecord) -> None:
    body = logs(sent).SerializeToString()
    assert with_traces(body) is body


def test_ids_of_zeros_are_none() -> None:
    (found,) = after(record("api_request", AT, OF_PROMPT, trace_id=bytes(16), span_id=bytes(8)))
    assert (found.trace_id, found.span_id) == (trace_of_prompt(b"s-1", b"p-1"), b"")
    assert len(found.SerializeToString()) < len(record("api_request", AT, OF_PROMPT).SerializeToString()) + 80


@given(
    some.lists(some.sampled_from(["prompt", "trace", "other", "unknown"]), max_size=6),
    some.binary(max_size=20),
)
def test_what_is_not_given_a_trace_stays_as_it_was(kinds: list[str], more: bytes) -> None:
    sent = []
    for kind in kinds:
        each = record("tool_result" if kind != "other" else "noted", AT, {"session.id": "s-1"})
        if kind == "trace":
            each.trace_id = b"t" * 16
        if kind == "unknown":
            # A field that this release does not know.
            each.MergeFromString(bytes((15 << 3 | 2, len(more))) + more)
        sent.append(each)
    for before, found in zip(sent, after(*sent), strict=True):
        if made_of(found):
            found.ClearField("trace_id")
            del found.attributes[-1]
        assert found.SerializeToString() == before.SerializeToString()
    again = with_traces(logs(*sent).SerializeToString())
    assert with_traces(again) is again, "what has its trace is left alone"


@pytest.mark.parametrize("form", ["protobuf", "json"])
def test_they_are_durable_with_their_trace_in_either_format(log: WriteAheadLog, form: str) -> None:
    intake = Intake(log)
    if form == "protobuf":
        intake.logs(logs(record("api_request", AT, OF_PROMPT)).SerializeToString())
    else:
        intake.logs(
            b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"a.api_request","attributes":['
            b'{"key":"session.id","value":{"stringValue":"s-1"}},{"key":"prompt.id","value":{"stringValue":"p-1"}}]}]}]}]}',
            format="json",
        )
    chunk = log.read(0, max_bytes=1 << 20)
    assert chunk is not None and trace_of_prompt(b"s-1", b"p-1") in chunk.data
