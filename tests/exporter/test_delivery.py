"""What a receiver answers decides what becomes of spans: retries, sizes, refusals, losses, and what is said of it."""

from __future__ import annotations

import json
import logging
import signal
import threading
import time
from itertools import pairwise

import pytest
from exporter.conftest import MakePipeline
from exporter.receiver import TAKEN, Receiver, Reply, attributes
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

from retrospan.exporter.delivery import notices
from retrospan.exporter.delivery.requests import ExportRequest
from retrospan.exporter.delivery.weighing import Entry
from retrospan.schemas.wire import delimited, varint


def record(provider: TracerProvider, *names: str, **values: str) -> None:
    tracer = provider.get_tracer("test")
    for name in names:
        with tracer.start_as_current_span(name) as span:
            span.set_attributes(values)


def numbered(count: int) -> list[str]:
    return [f"span {number}" for number in range(count)]


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "retrospan.exporter"]


def test_what_flush_returns_true_for_has_arrived_in_order(pipeline: MakePipeline, receiver: Receiver) -> None:
    built, provider = pipeline()
    record(provider, *numbered(700))
    assert built.flush(10)
    assert receiver.names() == numbered(700)
    counts = built.counts()
    assert (counts.accepted, counts.delivered, counts.waiting, counts.lost) == (700, 700, 0, {})


def test_a_busy_receiver_is_asked_again_when_it_said_and_not_before(
    pipeline: MakePipeline, receiver: Receiver
) -> None:
    replies = iter([Reply(503, headers={"Retry-After": "1"}), Reply(429), TAKEN])
    receiver.answer = lambda body: next(replies) if body else TAKEN
    built, provider = pipeline()
    record(provider, "one")
    assert built.flush(10)
    tries = [got for got in receiver.got if got.body]
    assert [got.reply.status for got in tries] == [503, 429, 200]
    # Equal bytes each time: the collector keeps equal spans once.
    assert len({got.body for got in tries}) == 1
    assert tries[1].at - tries[0].at >= 0.99


@pytest.mark.parametrize("code", [408, 425, 426, 501, 507, 520, 522, 530])
def test_no_answer_of_what_stands_before_a_collector_costs_a_span(
    pipeline: MakePipeline, receiver: Receiver, code: int
) -> None:
    replies = iter([Reply(code), TAKEN])
    receiver.answer = lambda body: next(replies) if body else TAKEN
    built, provider = pipeline()
    record(provider, "one")
    assert built.flush(60)
    assert receiver.names() == ["one"] and built.counts().lost == {}


def test_each_request_keeps_below_the_size_and_no_span_is_left_out(
    pipeline: MakePipeline, receiver: Receiver
) -> None:
    built, provider = pipeline(request_bytes=50_000, delay_seconds=0.2)
    record(provider, *numbered(40), payload="x" * 6_000)
    assert built.flush(10)
    assert receiver.names() == numbered(40)
    assert all(len(got.body) <= 50_000 for got in receiver.requests())
    assert len(receiver.requests()) < 40 / 3


@pytest.mark.parametrize("limit", [20_000, 100_000])
def test_a_receiver_with_a_smaller_limit_still_gets_every_span(
    pipeline: MakePipeline, receiver: Receiver, limit: int
) -> None:
    receiver.answer = lambda body: TAKEN if len(body) <= limit else Reply(413, b"larger than the limit")
    built, provider = pipeline(delay_seconds=0.2)
    record(provider, *numbered(30), payload="x" * 8_000)
    assert built.flush(10)
    assert sorted(receiver.names()) == sorted(numbered(30))
    assert built.counts().lost == {} and built.counts().reduced == 0


def test_a_span_too_large_for_the_receiver_loses_its_largest_values_only(
    pipeline: MakePipeline, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answer = lambda body: TAKEN if len(body) <= 100_000 else Reply(413)
    built, provider = pipeline()
    record(provider, "huge", small="kept", huge="é" * 150_000, other="y" * 40_000)
    record(provider, "next")
    assert built.flush(10)
    huge, after = receiver.spans()
    assert after.name == "next"
    found = attributes(huge.attributes)
    assert found["small"] == "kept" and found["other"] == "y" * 40_000
    description = json.loads(found["huge"])
    assert description["omitted_bytes"] == 300_000
    assert description["begins"].startswith("éé")
    assert json.loads(found["retrospan.redacted"]) == [{"path": "attributes.huge", "rule": "size"}]
    assert built.counts().reduced >= 1 and built.counts().lost == {}
    assert any("too large for the receiver" in line for line in lines(caplog))


def test_a_span_beyond_the_own_limit_is_reduced_before_it_is_sent(
    pipeline: MakePipeline, receiver: Receiver
) -> None:
    built, provider = pipeline(span_bytes=10_000)
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("huge") as span:
        span.add_event("loud", {"text": "z" * 50_000, "short": "kept"})
    assert built.flush(10)
    (huge,) = receiver.spans()
    event = attributes(huge.events[0].attributes)
    assert event["short"] == "kept" and json.loads(event["text"])["omitted_bytes"] == 50_000
    assert len(receiver.requests()[0].body) < 10_000
    assert built.counts().reduced == 1


def test_no_password_of_the_address_is_logged(
    pipeline: MakePipeline, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answer = lambda _: Reply(401, b"")
    place = receiver.url.removeprefix("http://")
    built, provider = pipeline(endpoint=f"http://user:s3cr3t@{place}")
    record(provider, "kept")
    assert not built.flush(1)
    assert any("…@" in line for line in lines(caplog))
    built.shutdown(0)
    assert not any("s3cr3t" in line for line in lines(caplog))


def test_what_is_refused_is_counted_and_reported_once_and_what_follows_is_sent(
    pipeline: MakePipeline, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    status = b"\x08\x03" + delimited(2, b"not like this")
    receiver.answer = lambda body: Reply(400, status) if b"bad" in body else TAKEN
    built, provider = pipeline(delay_seconds=60)
    for name in ("bad 1", "good 1", "bad 2", "good 2"):
        record(provider, name)
        built.flush(10)
    assert receiver.names() == ["good 1", "good 2"]
    assert built.counts().lost == {notices.REFUSED: 2}
    assert built.counts().delivered == 2
    said = [line for line in lines(caplog) if "refused" in line]
    assert len([line for line in said if "not like this" in line]) == 1
    # Later requests say it, where the collector can show it: on the resource.
    last = receiver.requests()[-1].parsed().resource_spans[0].resource
    assert attributes(last.attributes)["retrospan.exporter.lost"] == 2


def test_rejected_spans_of_a_request_that_was_taken_are_lost_and_reported(
    pipeline: MakePipeline, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    partial = delimited(1, b"\x08" + varint(1) + delimited(2, b"no trace id"))
    replies = iter([Reply(200, partial)])
    receiver.answer = lambda body: next(replies, TAKEN) if body else TAKEN
    built, provider = pipeline()
    record(provider, "one", "two")
    assert built.flush(10)
    assert built.counts().lost == {notices.REJECTED: 1} and built.counts().delivered == 1
    assert any("no trace id" in line for line in lines(caplog))


def test_a_wrong_token_is_one_line_at_the_start_before_any_span(
    pipeline: MakePipeline, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(
        401, delimited(2, b"this token is not in force")
    )
    built, provider = pipeline()
    built.start()
    receiver.until(lambda: len(lines(caplog)) == 1)
    (line,) = lines(caplog)
    assert "401" in line and "this token is not in force" in line and "RETROSPAN_TOKEN" in line
    record(provider, *numbered(300))
    assert not built.flush(0.5)
    assert lines(caplog) == [line]
    receiver.answer = receiver.answer_logs = lambda body: TAKEN
    assert built.flush(10)
    assert receiver.names() == numbered(300)


def test_without_a_receiver_memory_stays_within_its_limit_and_the_rest_is_counted(
    pipeline: MakePipeline, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    built, provider = pipeline(memory_bytes=1_000_000)
    most = 0
    for _ in range(20):
        record(provider, *numbered(20), payload="p" * 10_000)
        most = max(most, built._backlog._used)
        time.sleep(0.005)
    # What is accepted is weighed; its encoding weighs no more.
    assert most <= 1_000_000 + 20_000
    counts = built.counts()
    assert counts.accepted + counts.lost[notices.MEMORY_FULL] == 400
    assert 50 < counts.accepted < 100
    receiver.until(lambda: any("lost" in line for line in lines(caplog)))
    assert len([line for line in lines(caplog) if "span(s) lost: the memory" in line]) == 1
    receiver.answer = receiver.answer_logs = lambda body: TAKEN
    assert built.flush(10)
    assert len(receiver.spans()) == counts.accepted
    record(provider, "later")
    assert built.flush(10)
    last = receiver.requests()[-1].parsed().resource_spans[0].resource
    assert attributes(last.attributes)["retrospan.exporter.lost"] == 400 - counts.accepted


def test_secrets_never_leave_the_process_and_personal_data_does_unless_it_is_asked_for(
    pipeline: MakePipeline, receiver: Receiver
) -> None:
    secret = "sk-" + "a1" * 20
    built, provider = pipeline()
    record(provider, "call", prompt=f"use {secret} for ada@example.com", password="hunter2hunter2")
    assert built.flush(10)
    body = receiver.requests()[-1].body
    assert secret.encode() not in body and b"hunter2" not in body and b"ada@example.com" in body
    listed = json.loads(attributes(receiver.spans()[0].attributes)["retrospan.redacted"])
    assert {"path": "attributes.prompt", "rule": "api-key"} in listed
    assert built.counts().redacted_values == 2
    everything, other = pipeline(redaction="all")
    record(other, "call", prompt="mail ada@example.com")
    assert everything.flush(10)
    assert b"ada@example.com" not in receiver.requests()[-1].body
    nothing, third = pipeline(redaction="off")
    record(third, "call", prompt=f"use {secret}")
    assert nothing.flush(10)
    assert secret.encode() in receiver.requests()[-1].body


def test_a_span_that_cannot_be_searched_is_withheld(pipeline: MakePipeline, receiver: Receiver) -> None:
    text = '{"password": "x"}'
    for _ in range(12):
        text = json.dumps({"inner": text})
    built, provider = pipeline()
    record(provider, "deep", payload=text)
    assert built.flush(10)
    (span,) = receiver.spans()
    assert span.name == "[withheld]" and span.span_id and span.start_time_unix_nano
    assert set(attributes(span.attributes)) == {"retrospan.redacted"}
    assert built.counts().withheld_spans == 1


def test_the_end_waits_for_a_receiver_that_answered_before(
    pipeline: MakePipeline, receiver: Receiver
) -> None:
    built, provider = pipeline()
    record(provider, "first")
    assert built.flush(10)
    replies = iter([Reply(503), Reply(503), TAKEN])
    receiver.answer = lambda body: next(replies)
    record(provider, "last")
    assert built.shutdown(10)
    assert receiver.names() == ["first", "last"]


def test_the_end_does_not_wait_for_a_receiver_that_never_answered(
    pipeline: MakePipeline, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    built, provider = pipeline()
    record(provider, "only")
    assert not built.shutdown(600)
    assert built.counts().lost == {notices.SHUT_DOWN: 1}
    assert any("1 span(s) of this process were lost" in line for line in lines(caplog))
    record(provider, "after")
    assert built.counts().lost[notices.AFTER_SHUTDOWN] == 1


def test_no_deadline_is_overstepped_while_the_receiver_does_not_answer(
    pipeline: MakePipeline, receiver: Receiver
) -> None:
    release = threading.Event()

    def hang(body: bytes) -> Reply:
        release.wait(60)
        return TAKEN

    receiver.answer = receiver.answer_logs = hang
    built, provider = pipeline(timeout_seconds=600)
    record(provider, "one")
    assert not built.flush(0.2)
    assert not built.shutdown(0.2)
    release.set()


def test_a_span_may_end_in_a_signal_handler_that_interrupts_the_exporter(
    pipeline: MakePipeline, receiver: Receiver
) -> None:
    built, provider = pipeline()
    span = provider.get_tracer("test").start_span("one")
    # The SDK's lock on the attributes of one span knows no second entry: the handler ends another.
    other = provider.get_tracer("test").start_span("other")
    assert isinstance(span, ReadableSpan) and isinstance(other, ReadableSpan)
    built.start()
    handled = 0

    def handle(number: int, frame: object) -> None:
        nonlocal handled
        handled += 1
        built.accept(other)
        # Not by itself: on a busy machine one would come before the last is done with.
        signal.setitimer(signal.ITIMER_REAL, 0.0005)

    accepted = 0
    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005)
        deadline = time.monotonic() + 60
        while handled < 50:
            built.accept(span)
            accepted += 1
            assert time.monotonic() < deadline
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    counts = built.counts()
    assert counts.accepted + counts.lost_spans == handled + accepted


def test_ending_a_span_does_no_work_on_the_thread_that_ends_it(
    pipeline: MakePipeline, receiver: Receiver
) -> None:
    """No I/O, no encoding, no wait: all that happens there is that the span is weighed and put into a queue."""
    built, provider = pipeline()
    record(provider, "started")
    assert built.flush(10)
    taken_by: set[int] = set()
    encoded_by: set[int] = set()
    outbox = built._outbox
    assert outbox is not None
    backlog_put, outbox_put = built._backlog.put, outbox.put

    def take(entry: Entry) -> bool:
        # That the process is alive is said by the encoder itself, whenever it is due.
        if isinstance(entry, ReadableSpan):
            taken_by.add(threading.get_ident())
        return backlog_put(entry)

    def encoded(request: ExportRequest, held: int = 0) -> None:
        encoded_by.add(threading.get_ident())
        outbox_put(request, held)

    built._backlog.put = take  # type: ignore[method-assign]
    outbox.put = encoded  # type: ignore[method-assign]
    record(provider, *numbered(300))
    assert built.flush(10)
    assert taken_by == {threading.get_ident()}
    assert encoded_by and threading.get_ident() not in encoded_by


def test_pauses_grow_without_a_deadline(pipeline: MakePipeline, receiver: Receiver) -> None:
    receiver.answer = lambda body: Reply(503) if body else TAKEN
    built, provider = pipeline()
    record(provider, "one")
    receiver.until(lambda: len([got for got in receiver.got if got.body]) >= 3)
    at = [got.at for got in receiver.got if got.body]
    pauses = [later - earlier for earlier, later in pairwise(at)]
    assert pauses[1] > pauses[0] > 0.3
    assert built.counts().waiting == 1


logging.getLogger("urllib3").setLevel(logging.WARNING)
