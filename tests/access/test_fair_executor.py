"""Who is next when many wait, and how much a tenant may send. By order and by a clock of our own, never by timing."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future

import grpc
import otlp_requests as make
import pytest

from retrospan.ingest.access.fair_executor import FairExecutor, FairQueue
from retrospan.ingest.access.quotas import Bucket, Meter
from retrospan.ingest.access.tokens import Quota
from retrospan.ingest.receive.budget import Hold
from retrospan.ingest.receive.intake import Acknowledgement, Format, Intake
from retrospan.schemas.errors import OverQuota

from .conftest import TRACES, Door, entry


def order(turns: FairQueue, lanes: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Let work wait in these lanes, then take it all."""
    taken: list[tuple[str, ...]] = []
    for lane in lanes:
        turns.add(lane, lambda lane=lane: taken.append(lane))  # type: ignore[misc]
    for _ in lanes:
        turns.take()()
    return taken


@pytest.mark.requirement("R33")
def test_a_flood_waits_behind_itself() -> None:
    flood, other = ("a", "t", "1"), ("b", "t", "1")
    taken = order(FairQueue(), [flood] * 100 + [other] * 2)
    assert [place for place, lane in enumerate(taken) if lane == other] == [1, 3]


@pytest.mark.requirement("R33")
def test_a_tenant_gets_no_more_turns_by_more_tokens_or_connections() -> None:
    many = [("a", f"t{token}", f"{connection}") for token in range(5) for connection in range(10)]
    taken = order(FairQueue(), many * 2 + [("b", "t", "1")] * 10)
    assert [lane[0] for lane in taken[:20]] == ["a", "b"] * 10
    assert [lane[1] for lane in taken if lane[0] == "a"][:10] == ["t0", "t1", "t2", "t3", "t4"] * 2


def test_what_waits_in_one_lane_keeps_its_order() -> None:
    turns = FairQueue()
    taken: list[int] = []
    for number in range(5):
        turns.add(("a", "b"), lambda number=number: taken.append(number))  # type: ignore[misc]
    for _ in range(5):
        turns.take()()
    assert taken == [0, 1, 2, 3, 4]


def test_a_pool_takes_turns_and_hands_on_results_and_errors() -> None:
    taken: list[str] = []
    go = threading.Event()
    with FairExecutor(1, "test") as pool:
        first = pool.submit(go.wait)
        flood: list[Future[None]] = [pool.submit_in(("a",), taken.append, "a") for _ in range(20)]
        other = pool.submit_in(("b",), taken.append, "b")
        failing = pool.submit_in(("c",), int, "no number")
        cancelled = pool.submit_in(("d",), taken.append, "d")
        assert cancelled.cancel()
        go.set()
        assert first.result(30) is True
        with pytest.raises(ValueError, match="no number"):
            failing.result(30)
        for future in (*flood, other):
            future.result(30)
    assert taken.index("b") == 1 and taken.count("a") == 20 and "d" not in taken
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(int)


class Held(Intake):
    """Answers nothing until told to, and notes in which order requests come in."""

    def hold(self) -> None:
        self.go = threading.Event()
        self.entered = threading.Event()
        self.order: list[bytes] = []

    def traces(
        self, body: bytes, tenant: str = "default", *, format: Format = "protobuf", hold: Hold | None = None
    ) -> Acknowledgement:
        self.order.append(body)
        self.entered.set()
        assert self.go.wait(60)
        return Acknowledgement(1, 0, "", len(self.order))


@pytest.mark.requirement("R33")
def test_a_connection_with_a_flood_does_not_hold_up_another_over_grpc(door: Door) -> None:
    """The library hands its calls to our pool with what tells them apart; if a release stops, this fails."""
    held = Held(door.log)
    held.hold()
    door.intake = held
    door.threads = 1
    metadata = (("authorization", "Bearer Writer-1"),)
    target = f"127.0.0.1:{door.grpc_port}"
    with (
        grpc.insecure_channel(target, options=[("grpc.use_local_subchannel_pool", 1)]) as flooding,
        grpc.insecure_channel(target, options=[("grpc.use_local_subchannel_pool", 1)]) as other,
    ):
        flood = flooding.unary_unary(TRACES)
        answers = [flood.future(b"flood", timeout=60, metadata=metadata)]
        assert held.entered.wait(30)
        answers += [flood.future(b"flood", timeout=60, metadata=metadata) for _ in range(50)]
        until_waiting(door, 50)
        answers.append(other.unary_unary(TRACES).future(b"other", timeout=60, metadata=metadata))
        until_waiting(door, 51)
        held.go.set()
        for answer in answers:
            answer.result(60)
    assert held.order.count(b"flood") == 51
    assert held.order.index(b"other") <= 2


def until_waiting(door: Door, count: int) -> None:
    """Wait until so many calls wait in the gRPC receiver's pool."""
    deadline = time.monotonic() + 60
    while door.grpc.waiting != count:
        assert time.monotonic() < deadline, f"{door.grpc.waiting} calls wait, not {count}"
        time.sleep(0.01)


def test_a_bucket_holds_one_second_and_may_owe() -> None:
    now = [0.0]
    bucket = Bucket(100.0, lambda: now[0])
    assert bucket.is_open()
    bucket.charge(250)
    assert not bucket.is_open()
    now[0] = 1.5
    assert not bucket.is_open()
    now[0] = 1.6
    assert bucket.is_open()
    now[0] = 100.0
    assert bucket.is_open()
    bucket.charge(100)
    assert not bucket.is_open()


def test_the_buckets_of_tenants_are_apart_and_a_new_quota_starts_full() -> None:
    meter = Meter(lambda: 0.0)
    small = Quota(bytes_per_second=10.0)
    meter.enter("a", small, 11)
    with pytest.raises(OverQuota, match="'a' sends more than its 10 bytes a second"):
        meter.enter("a", small, 1)
    meter.enter("b", small, 11)
    meter.enter("a", Quota(bytes_per_second=20.0), 11)
    meter.enter("a", None, 1_000_000)
    spans = Quota(spans_per_second=1.0)
    meter.enter("c", spans, 1_000_000)
    meter.charge_spans("c", spans, 2)
    with pytest.raises(OverQuota, match="1 spans a second"):
        meter.enter("c", spans, 1)


QUOTA = entry("Writer-1", name="writer") + "[quota.default]\nspans_per_second = 2\n"


@pytest.mark.requirement("R33")
def test_over_its_quota_a_tenant_is_told_to_come_back_within_a_second(door: Door) -> None:
    from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]

    door.write(QUOTA)
    body = make.traces(make.span(), make.span(), make.span()).SerializeToString()
    token = ("authorization", "Bearer Writer-1")
    assert door.call(body, token)[0] == "OK"
    code, said, trailers = door.call(body, token)
    assert (code, said) == ("RESOURCE_EXHAUSTED", "tenant 'default' sends more than its 2 spans a second")
    assert RetryInfo.FromString(trailers["google.rpc.retryinfo-bin"]).retry_delay.ToSeconds() == 1
    status, answer, headers = door.post(body, authorization="Bearer Writer-1")
    assert (status, headers["retry-after"]) == (429, "1")
    assert b"2 spans a second" in answer
    assert door.gate.counters.over_quota == 2
    counters = door.intake.counters
    assert (counters.requests, counters.requests_refused, counters.spans_acknowledged) == (3, 2, 3)
    door.seconds = 1.0
    assert door.call(body, token)[0] == "OK"
    assert len(door.records()) == 2
