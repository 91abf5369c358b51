"""What is said before a span ends: begun spans, events, the state; it leaves at once, as log records."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from exporter.conftest import MakePipeline
from exporter.receiver import Receiver, Reply, attributes
from opentelemetry import baggage, trace
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as LogMessage
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags

from retrospan.exporter import recording as r
from retrospan.exporter.delivery.encoding import encode_log_record
from retrospan.exporter.delivery.pipeline import Pipeline
from retrospan.exporter.delivery.records import LogRecord
from retrospan.exporter.processor import PipelineProcessor
from retrospan.schemas import attributes as names

AGENT, CONVERSATION = "gen_ai.agent.name", "gen_ai.conversation.id"


@pytest.fixture
def agent(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipeline]:
    """A pipeline behind the process's own provider."""
    built, provider = pipeline()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield built


def begun(receiver: Receiver, name: str) -> dict[str, Any]:
    """The attributes of the record that a span of that name has begun."""
    found = [attributes(each.attributes) for each in receiver.records(names.BEGUN)]
    (one,) = [each for each in found if each[names.BEGUN_NAME] == name]
    return one


def test_a_record_says_what_opentelemetrys_encoder_says() -> None:
    from opentelemetry._logs import LogRecord as ApiRecord
    from opentelemetry._logs import SeverityNumber
    from opentelemetry.sdk._logs import ReadableLogRecord

    said: dict[str, Any] = {"text": "ä😀", "n": -5, "x": 1.5, "yes": True, "list": ["a", "b"]}
    context = SpanContext(7, 9, is_remote=False, trace_flags=TraceFlags(1))
    theirs = ApiRecord(
        timestamp=11,
        observed_timestamp=11,
        context=trace.set_span_in_context(trace.NonRecordingSpan(context)),
        severity_number=SeverityNumber.INFO,
        severity_text="INFO",
        attributes=said,
        event_name="retrospan.observation",
    )
    wanted = (
        encode_logs([ReadableLogRecord(theirs, Resource({}))]).resource_logs[0].scope_logs[0].log_records[0]
    )
    wanted.ClearField("body")  # an empty one is written there
    ours = LogRecord("retrospan.observation", said, 11, Resource({}), None, 7, 9)
    assert LogMessage.FromString(encode_log_record(ours)) == wanted


def test_what_is_said_leaves_before_its_span_ends_and_has_the_id_that_the_span_says(
    agent: Pipeline, receiver: Receiver
) -> None:
    with r.run("clerk", id="mine", input="hello"), r.step("look", 1) as step:
        ids = step.span.get_span_context()
        before = time.time_ns()
        own = r.observe("order/1", {"status": "late"})
        r.decide("route", "refund")
        r.use("order/1", "status")
        r.derive("output:1", f"observation:{own}")
        r.checkpoint("cp")
        r.compaction("trim")
        r.approve("approved")
        r.output("made")
        r.state({"a": 1}, schema="s@1")
        receiver.until(lambda: bool(receiver.records(names.STATE_EVENT)))
        assert receiver.names() == []
    assert agent.flush(10)
    found = {each.event_name: each for each in receiver.records() if each.event_name != names.BEGUN}
    seven = {
        names.OBSERVATION,
        names.DECISION,
        names.USE,
        names.DERIVATION,
        names.CHECKPOINT,
        names.COMPACTION,
    }
    seven.add(names.APPROVAL)
    assert found.keys() == seven | {names.OUTPUT_EVENT, names.STATE_EVENT, names.ALIVE}
    on_span = next(span for span in receiver.spans() if span.name == "look")
    for event in on_span.events:
        said = attributes(found[event.name].attributes)
        assert said.pop(names.RUN_ID) == "mine" and len(said[names.EVENT_ID]) == 16
        assert said == attributes(event.attributes)
        assert (
            before <= found[event.name].time_unix_nano == event.time_unix_nano <= on_span.end_time_unix_nano
        )
    assert {event.name for event in on_span.events} == seven
    for name in seven | {names.OUTPUT_EVENT, names.STATE_EVENT}:
        each = found[name]
        assert (each.trace_id, each.span_id) == (
            ids.trace_id.to_bytes(16, "big"),
            ids.span_id.to_bytes(8, "big"),
        )
        assert each.severity_number == 9 and not each.HasField("body")
        assert each.observed_time_unix_nano == each.time_unix_nano
    assert attributes(found[names.OUTPUT_EVENT].attributes)[names.OUTPUT_ID] == "made"
    state = attributes(found[names.STATE_EVENT].attributes)
    assert (state[names.STATE_BEFORE], state[names.STATE_SCHEMA]) == ('{"a":1}', "s@1")
    assert len({attributes(each.attributes)[names.EVENT_ID] for each in found.values() if each.span_id}) == 9
    assert agent.counts().records.lost == {}


def test_an_effect_says_its_status_and_its_result_when_it_knows_them(
    agent: Pipeline, receiver: Receiver
) -> None:
    with r.run("clerk"), r.effect("pay", {"n": 1}) as pay:
        pay.result({"paid": 3})
        pay.status("unknown")
    with (
        trace.get_tracer("theirs").start_as_current_span(
            "execute_tool drop",
            attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "drop"},
        ),
        r.effect("drop", effect="destructive", key="k"),
    ):
        pass
    assert agent.flush(10)
    planned = begun(receiver, "execute_tool pay")
    assert (planned[names.EFFECT], planned[names.EFFECT_STATUS]) == ("write", "planned")
    assert planned["gen_ai.tool.call.arguments"] == '{"n":1}'
    first, second, third, fourth = (attributes(e.attributes) for e in receiver.records(names.EFFECT_EVENT))
    assert first["gen_ai.tool.call.result"] == '{"paid":3}' and names.EFFECT_STATUS not in first
    assert second[names.EFFECT_STATUS] == "unknown" and "gen_ai.tool.call.result" not in second
    assert (third[names.EFFECT_STATUS], third[names.IDEMPOTENCY_KEY]) == ("planned", "k")
    assert fourth[names.EFFECT_STATUS] == "executed"
    spans = {span.name: attributes(span.attributes) for span in receiver.spans()}
    assert spans["execute_tool pay"]["gen_ai.tool.call.result"] == '{"paid":3}'
    assert spans["execute_tool pay"][names.EFFECT_STATUS] == "unknown"


def test_a_span_of_ours_has_begun_with_all_that_is_known_of_it_then(
    agent: Pipeline, receiver: Receiver
) -> None:
    before = "run;origin;00000000000000000000000000000007-0000000000000009"
    with (
        r.run("clerk", resumes=before, conversation="c", input="hello", state={"n": 1}) as run,
        r.step("look", 2, 3, state={"n": 2}),
    ):
        pass
    assert agent.flush(10)
    root, step = begun(receiver, "invoke_agent clerk"), begun(receiver, "look")
    ended = {span.name: span for span in receiver.spans()}
    assert root[names.RUN_ID] == step[names.RUN_ID] == run.id and step[names.RUN_ORIGIN] == "origin"
    assert (root["gen_ai.input.messages"], root[names.STATE_BEFORE]) == (
        attributes(ended["invoke_agent clerk"].attributes)["gen_ai.input.messages"],
        '{"n":1}',
    )
    assert (root[names.BEGUN_PARENT], root[names.BEGUN_REMOTE], root[names.BEGUN_KIND]) == ("", False, 1)
    assert json.loads(root[names.BEGUN_LINKS]) == [
        {
            "trace_id": f"{7:032x}",
            "span_id": f"{9:016x}",
            "attributes": {names.LINK_TYPE: "resumes", names.RUN_ID: "run"},
        }
    ]
    assert step[names.BEGUN_PARENT] == ended["invoke_agent clerk"].span_id.hex()
    assert (step[names.STEP_INDEX], step[names.STATE_BEFORE]) == (2, '{"n":2}')
    assert (step[AGENT], step[CONVERSATION]) == ("clerk", "c") and names.BEGUN_LINKS not in step
    for each in receiver.records(names.BEGUN):
        span = ended[attributes(each.attributes)[names.BEGUN_NAME]]
        assert (each.span_id, each.time_unix_nano) == (span.span_id, span.start_time_unix_nano)
    assert root[names.PROCESS_ID] == step[names.PROCESS_ID] == agent.pulse.process


def test_spans_of_other_instrumentations_have_begun_too_and_belong_to_the_run(
    agent: Pipeline, receiver: Receiver
) -> None:
    tracer = trace.get_tracer("theirs", "1.2")
    remote = SpanContext(7, 9, is_remote=True, trace_flags=TraceFlags(1))
    with r.run("clerk", id="mine", conversation="c"):
        with tracer.start_as_current_span(
            "chat", kind=SpanKind.CLIENT, attributes={"a": 1, names.RUN_ORIGIN: "own"}
        ):
            pass
        carried = baggage.get_all()
    at = trace.set_span_in_context(trace.NonRecordingSpan(remote))
    for key, value in carried.items():
        at = baggage.set_baggage(key, value, at)
    link = Link(remote, {"k": "v"})
    tracer.start_span("served", at, attributes={AGENT: "other"}, links=[link]).end()
    assert agent.flush(10)
    chat, served = begun(receiver, "chat"), begun(receiver, "served")
    assert (chat["a"], chat[names.RUN_ID], chat[names.RUN_ORIGIN], chat[names.BEGUN_KIND]) == (
        1,
        "mine",
        "own",
        3,
    )
    assert AGENT not in chat and CONVERSATION not in chat, "the framework itself may say another"
    assert (served[names.RUN_ID], served[AGENT], served[CONVERSATION]) == ("mine", "other", "c")
    assert (served[names.BEGUN_PARENT], served[names.BEGUN_REMOTE]) == (f"{9:016x}", True)
    assert json.loads(served[names.BEGUN_LINKS])[0]["attributes"] == {"k": "v"}
    ended = {span.name: attributes(span.attributes) for span in receiver.spans()}
    assert ended["chat"] == {"a": 1, names.RUN_ID: "mine", names.RUN_ORIGIN: "own"}
    scopes = [
        scope.scope.name
        for got in receiver.got_logs
        for group in _logs(got.body)
        for scope in group.scope_logs
        for each in scope.log_records
        if attributes(each.attributes).get(names.BEGUN_NAME) == "chat"
    ]
    assert scopes == ["theirs"]


def _logs(body: bytes) -> Any:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    return ExportLogsServiceRequest.FromString(body).resource_logs


def test_a_span_that_is_not_sampled_says_nothing(
    pipeline: MakePipeline, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, _ = pipeline()
    silent = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    silent.add_span_processor(PipelineProcessor(built))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", silent)
    with r.run("clerk"), r.step("look"):
        r.observe("a/b", {"c": 1})
        r.state({"a": 1})
    counts = built.counts()
    assert (counts.accepted, counts.records.accepted) == (0, 0)


def test_without_our_pipeline_an_event_has_an_id_and_goes_no_other_way(
    pipeline: MakePipeline, sent: Any
) -> None:
    built, _ = pipeline()
    with r.step("look") as step:
        r.observe("a/b", {"c": 1})
        step.state({"a": 1})
    (event,) = sent.named("look").events
    assert len(event.attributes[names.EVENT_ID]) == 16
    assert built.counts().records.accepted == 0


def test_records_are_redacted_and_withheld_as_spans_are(agent: Pipeline, receiver: Receiver) -> None:
    secret, deep = "sk-" + "a1" * 20, '{"password": "x"}'
    for _ in range(12):
        deep = json.dumps({"inner": deep})
    with r.run("clerk", input=f"use {secret}"):
        r.observe("order/1", {"password": "hunter2hunter2"}, source=secret)
    with trace.get_tracer("theirs").start_as_current_span(f"deep {secret}", attributes={"payload": deep}):
        r.decide("what", deep)
    assert agent.flush(10)
    bodies = b"".join(got.body for got in receiver.got_logs)
    assert secret.encode() not in bodies and b"hunter2" not in bodies
    (seen,) = receiver.records(names.OBSERVATION)
    listed = json.loads(attributes(seen.attributes)[names.REDACTED])
    assert {"path": f"attributes.{names.SOURCE}", "rule": "api-key"} in listed
    withheld = begun(receiver, "[withheld]")
    kept = {names.BEGUN_NAME, names.BEGUN_KIND, names.BEGUN_PARENT, names.BEGUN_REMOTE, names.PROCESS_ID}
    assert withheld.keys() == kept | {names.REDACTED}
    (decided,) = receiver.records(names.DECISION)
    assert attributes(decided.attributes).keys() == {names.EVENT_ID, names.REDACTED}
    assert decided.span_id and decided.time_unix_nano
    assert agent.counts().withheld_spans == 3, "two records and the span"


def test_what_a_span_got_after_it_began_is_searched(agent: Pipeline, receiver: Receiver) -> None:
    """What its record was found to be free of is not searched again; all else is, whatever it looks like."""
    secret = "sk-" + "a1" * 20
    harmless = "x" * 2_000
    tracer = trace.get_tracer("theirs")
    with tracer.start_as_current_span("chat", attributes={"prompt": harmless, "other": "y" * 2_000}) as span:
        assert agent.flush(10)
        span.set_attributes({"prompt": f"{harmless} {secret}", "late": secret, "again": harmless})
    assert agent.flush(10)
    assert secret.encode() not in b"".join(got.body for got in receiver.got)
    said = attributes(receiver.spans()[0].attributes)
    assert said["late"] == "[redacted:api-key]" and said["prompt"].endswith("[redacted:api-key]")
    assert (said["other"], said["again"]) == ("y" * 2_000, harmless)


def test_a_record_beyond_the_limit_loses_its_largest_values(
    pipeline: MakePipeline, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, provider = pipeline(span_bytes=20_000)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    receiver.answer_logs = lambda body: Reply() if len(body) < 10_000 else Reply(413)
    with r.step("look"):
        r.observe("order/1", {"text": "z" * 50_000}, source="kept")
        r.observe("order/2", {"text": "z" * 15_000}, source="kept")
    assert built.flush(10)
    first, second = (attributes(each.attributes) for each in receiver.records(names.OBSERVATION))
    for found, size in ((first, 50_000), (second, 15_000)):
        assert found[names.SOURCE] == "kept" and len(found[names.EVENT_ID]) == 16
        assert json.loads(found[names.CHANGES])["omitted_bytes"] == size + len('{"text":""}')
    assert built.counts().records.lost == {}


def test_a_process_says_that_it_is_alive_while_a_span_is_open(
    pipeline: MakePipeline, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, provider = pipeline(alive_seconds=0.2)
    span = provider.get_tracer("theirs").start_span("long")
    receiver.until(lambda: len(receiver.records(names.ALIVE)) >= 3)
    span.end()
    assert built.flush(10)
    said = attributes(receiver.records(names.ALIVE)[0].attributes)
    resource = provider.resource.attributes
    assert said[names.PROCESS_ID] == built.pulse.process and said[names.ALIVE_INTERVAL] == 0.2
    assert said.get("service.instance.id") == resource.get("service.instance.id")
    assert not receiver.records(names.ALIVE)[0].trace_id
    assert built.pulse.beat() is None, "nothing is open"
    silent, other = pipeline(alive_seconds=0)
    with other.get_tracer("theirs").start_as_current_span("one"):
        assert silent.flush(10) and silent.pulse.beat() is None
