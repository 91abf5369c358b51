"""Requests that become far more in memory than they are on the wire: answered clearly, counted, and never costly."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import grpc
import otlp_requests as make
import pytest
from bench.bomb_shapes import BOMBS, JSON, LARGE, PROTOBUF, Bomb, request
from bench.processes import answer, child, first_line, pipe_of
from fix_collector import Served
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from sampling import one_in

from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.receive.budget import Budget
from retrospan.ingest.receive.intake import Intake
from retrospan.ingest.settings.config import Limits
from retrospan.schemas.errors import BadRequest, Overloaded

MIB = 1 << 20
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SIZE = 16 * MIB
# What the process does beside: loading what it took, answering the test's questions, and what its allocator keeps.
BESIDE = 96 * MIB
GOOD = make.traces(make.span("good")).SerializeToString()


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


def memory(collector: Served, key: str) -> int:
    for line in Path(f"/proc/{collector.process.pid}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(key)


def forget_peak(collector: Served) -> int:
    """Let the highest memory be what it is now, and return that."""
    Path(f"/proc/{collector.process.pid}/clear_refs").write_text("5")
    return memory(collector, "VmHWM")


def post(collector: Served, bomb: Bomb, body: bytes) -> Answer:
    connection = http.client.HTTPConnection(collector.http, timeout=120)
    headers = {"Content-Type": bomb.content_type}
    if bomb.encoding:
        headers["Content-Encoding"] = bomb.encoding
    try:
        connection.request("POST", f"/v1/{bomb.signal}", body, headers)
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, found, response.read())
    finally:
        connection.close()


def delivered(collector: Served, bomb: Bomb, body: bytes) -> Answer:
    """Send it as exporters do: again, while the collector says that it has no room just now."""
    answer = post(collector, bomb, body)
    for _ in range(60):
        if answer.status != 503:
            break
        time.sleep(1)
        answer = post(collector, bomb, body)
    return answer


def number(collector: Served, name: str) -> int:
    with urllib.request.urlopen(f"http://{collector.sql}/metrics", timeout=60) as reply:
        page = reply.read().decode()
    return int(float(next(line for line in page.splitlines() if line.startswith(name + " ")).split()[1]))


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One collector for all single bombs: it has to outlive them anyway."""
    place = tmp_path_factory.mktemp("attacked")
    collector = Served(place / "data", place / "stderr.txt")
    collector.send(traces=[GOOD])
    collector.wait_idle()
    yield collector
    collector.kill()


# One of each form; the long run has every sixteenth beside them but those that take minutes, and one of soak has all.
WORST = ("empty spans", "wire groups", "JSON: empty resources")
MINUTES = ("JSON: empty resources of logs", "many spans, each full of events")


def _marks(place: int, name: str) -> list[pytest.MarkDecorator]:
    if name in WORST:
        return []
    return [pytest.mark.soak if place % 16 or name in MINUTES else pytest.mark.long]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=_marks(place, name)) for place, name in enumerate(BOMBS)]
)
def test_a_bomb_costs_a_small_multiple_of_its_size(attacked: Served, name: str) -> None:
    bomb = BOMBS[name]
    body = bomb.make(SIZE)
    attacked.wait_idle()
    before = forget_peak(attacked)
    answer = post(attacked, bomb, body)
    assert answer.status in (200, 400), answer
    if answer.status == 200 and bomb.content_type == JSON:
        assert set(json.loads(answer.body)) <= {"partialSuccess"}
    assert memory(attacked, "VmHWM") - before < 8 * MIB + 4 * SIZE + BESIDE
    # Whoever sends something good is served as before.
    assert post(attacked, Bomb("traces", PROTOBUF, bytes), GOOD).status == 200


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [name for name in BOMBS if "resources" in name or "empty scopes" in name or "empty spans" in name]
)
def test_too_many_elements_are_refused_and_counted(attacked: Served, name: str) -> None:
    before = number(attacked, "retrospan_intake_requests_crowded_total")
    bomb = BOMBS[name]
    answer = post(attacked, bomb, bomb.make(SIZE))
    assert answer.status == 400
    assert b"more than" in answer.body
    assert number(attacked, "retrospan_intake_requests_crowded_total") == before + 1


@pytest.mark.parametrize("name", [name for name in BOMBS if name.startswith("wire groups")])
def test_groups_of_the_wire_format_are_refused_early(attacked: Served, name: str) -> None:
    bomb = BOMBS[name]
    answer = post(attacked, bomb, bomb.make(4 * MIB))
    if name == "wire groups in a span":
        told = ExportTraceServiceResponse.FromString(answer.body).partial_success
        assert (answer.status, told.rejected_spans) == (200, 1)
    else:
        assert answer.status == 400


@pytest.mark.parametrize("name", one_in(4, LARGE))
def test_what_is_only_large_is_kept_and_costs_no_more(attacked: Served, name: str) -> None:
    bomb = LARGE[name]
    attacked.wait_idle()
    before = forget_peak(attacked)
    answer = delivered(attacked, bomb, bomb.make(SIZE))
    assert (answer.status, answer.body) == (200, b"{}" if bomb.content_type == JSON else b"")
    # The warehouse loads it in the same process, or in its own.
    assert memory(attacked, "VmHWM") - before < 8 * MIB + 4 * SIZE + 4 * BESIDE


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param(b"\x4a\x00", id="attributes", marks=pytest.mark.long),
        pytest.param(b"\x5a\x00", id="events", marks=pytest.mark.soak),
        pytest.param(b"\x6a\x00", id="links", marks=pytest.mark.soak),
    ],
)
def test_the_good_spans_beside_a_bomb_are_kept(attacked: Served, unit: bytes) -> None:
    good = [make.span(f"beside {number}").SerializeToString() for number in range(3)]
    bad = make.span("bomb").SerializeToString() + unit * MIB
    answer = post(attacked, Bomb("traces", PROTOBUF, bytes), request(*good[:2], bad, good[2]))
    told = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert (answer.status, told.rejected_spans) == (200, 1)
    assert "more than 131,072" in told.error_message
    attacked.wait_idle()
    [found] = attacked.rows("SELECT uniqExact(name) AS names FROM spans WHERE name LIKE 'beside %'")
    assert int(found["names"]) == 3


def test_the_good_spans_beside_a_bomb_of_json_are_kept(attacked: Served) -> None:
    ids = '"traceId":"%s","spanId":"%s"'
    good = "{" + ids % ("11" * 16, "22" * 8) + ',"name":"json good"}'
    bad = "{" + ids % ("11" * 16, "33" * 8) + ',"attributes":[' + "{},\n" * 200_000 + "{}]}"
    body = '{"resourceSpans":[{"scopeSpans":[{"spans":[' + bad + "," + good + "]}]}]}"
    answer = post(attacked, Bomb("traces", JSON, bytes), body.encode())
    assert answer.status == 200
    assert json.loads(answer.body)["partialSuccess"]["rejectedSpans"] == "1"


def test_over_grpc_a_bomb_is_told_the_same(attacked: Served) -> None:
    before = forget_peak(attacked)
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(attacked.grpc, options=options) as channel:
        for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip, grpc.Compression.Deflate):
            with pytest.raises(grpc.RpcError) as refused:
                channel.unary_unary(EXPORT)(b"\x0a\x00" * (SIZE // 2), timeout=120, compression=compression)
            assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
            assert "more than" in str(refused.value.details())
    assert memory(attacked, "VmHWM") - before < 8 * MIB + 4 * SIZE + BESIDE


@pytest.mark.soak
@pytest.mark.parametrize(
    "name", ["empty spans", "JSON: empty attributes", "JSON: short texts", "many spans, each full"]
)
def test_no_body_holds_the_interpreter_for_its_whole_length(tmp_path: Path, name: str) -> None:
    log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=0)
    intake = Intake(log, Limits())
    bomb = BOMBS[name]
    body = bomb.make(60 * MIB)
    longest = 0.0
    done = threading.Event()

    def tick() -> None:
        nonlocal longest
        last = time.perf_counter()
        while not done.wait(0.002):
            now = time.perf_counter()
            longest = max(longest, now - last)
            last = now

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        intake.traces(body, format="json" if bomb.content_type == JSON else "protobuf")
    except BadRequest:
        pass
    finally:
        done.set()
        ticker.join()
        log.close()
    # 0.1 s and less where nothing else runs.
    assert longest < 1.5


@pytest.mark.long
def test_what_the_budget_cannot_hold_is_told_to_come_back(tmp_path: Path) -> None:
    collector = Served(
        tmp_path / "data", tmp_path / "stderr.txt", "--config", str(_settings(tmp_path, "64MiB"))
    )
    try:
        body = request(make.span("x" * (12 * MIB)).SerializeToString())
        with ThreadPoolExecutor(12) as pool:
            answers = list(
                pool.map(lambda _: post(collector, Bomb("traces", PROTOBUF, bytes), body), range(24))
            )
        refused = [answer for answer in answers if answer.status != 200]
        assert refused and len(refused) < len(answers)
        assert {answer.status for answer in refused} == {503}
        assert {answer.headers["retry-after"] for answer in refused} == {"1"}
        assert number(collector, "retrospan_intake_requests_over_budget_total") == len(refused)
        # Everything is given back.
        collector.until(lambda: number(collector, "retrospan_intake_bytes_held") == 0, 30)
        assert post(collector, Bomb("traces", PROTOBUF, bytes), body).status == 200
    finally:
        collector.kill()


@pytest.mark.parametrize(
    ("protocol", "name"),
    [
        pytest.param("grpc", "empty spans", marks=pytest.mark.long),
        pytest.param("http", "JSON: empty attributes", marks=pytest.mark.soak),
    ],
)
def test_sixteen_bombs_at_once_leave_memory_and_neighbours_alone(
    served: Served, tmp_path: Path, protocol: str, name: str
) -> None:
    served.send(traces=[GOOD])
    served.wait_idle()
    forget_peak(served)
    address = served.grpc if protocol == "grpc" else served.http
    errors = tmp_path / "errors.txt"
    with (
        child("bench.bomber", protocol, address, name, "60", "16", "8", errors=errors) as bomber,
        child("bench.neighbour", served.grpc, "8", "8", errors=errors) as neighbour,
    ):
        for process in (bomber, neighbour):
            first_line(process, errors)
        for process in (neighbour, bomber):
            pipe_of(process.stdin).write("go\n")
            pipe_of(process.stdin).flush()
        waited, answers = answer(neighbour, errors), answer(bomber, errors)
    allowed = {"UNAVAILABLE", "INVALID_ARGUMENT", "503", "400"}
    assert set(answers) <= allowed and len(answers) == 2, answers
    assert memory(served, "VmHWM") < 1_000_000_000
    assert len(waited["latencies"]) > 8, (
        "the others were acknowledged meanwhile; how soon, bench/BOMBS.md says"
    )


def _settings(place: Path, budget: str) -> Path:
    file = place / "retrospan.toml"
    file.write_text(f'[limits]\nrequests_bytes = "{budget}"\n')
    return file


def test_a_share_of_the_budget_is_kept_for_small_requests() -> None:
    budget = Budget(64 * MIB, wait_seconds=0.05)
    with budget.hold() as large, budget.hold() as small:
        large.arrive(17 * MIB)
        with budget.hold() as another, pytest.raises(Overloaded):
            another.arrive(10 * MIB)
        large.work(17 * MIB)
        with budget.hold() as another, pytest.raises(Overloaded):
            another.work(17 * MIB)
        small.arrive(10_000)
        small.work(10_000)
    assert budget.counters.bytes_held == 0
    assert budget.counters.requests_over_budget == 2


def test_requests_get_their_share_in_the_order_in_which_they_asked() -> None:
    budget = Budget(64 * MIB, wait_seconds=30)
    first = budget.hold()
    first.work(17 * MIB)
    got: list[int] = []

    def ask(number: int) -> None:
        with budget.hold() as hold:
            hold.work(17 * MIB)
            got.append(number)

    threads = []
    for name in range(2):
        thread = threading.Thread(target=ask, args=(name,))
        thread.start()
        threads.append(thread)
        deadline = time.monotonic() + 30
        while budget.counters.requests_waited <= name and time.monotonic() < deadline:
            time.sleep(0.001)
    first.release()
    for thread in threads:
        thread.join(30)
    assert got == [0, 1]
    assert budget.counters.bytes_held == 0
