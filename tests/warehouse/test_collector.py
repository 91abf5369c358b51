"""The whole collector with a server as its warehouse: away, slow, hanging, cut; several collectors at once."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import otlp_requests as otlp
import pytest
from fix_collector import Served
from fix_recordings import Recording
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from warehouse.engine_server import EngineServer, Fault

from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse

Start = Callable[..., Served]
ONCE = "SELECT count(), uniqExact(trace_id, span_id) FROM raw_spans"


@pytest.fixture
def engine_server(warehouse: EmbeddedWarehouse) -> Iterator[EngineServer]:
    """An empty server: the collector makes its tables itself."""
    store = warehouse.connect()
    store.command("DROP DATABASE retrospan")
    running = EngineServer(warehouse, user="me", password="p@ss/word")
    yield running
    running.close()
    # A server's tables and views are made otherwise than those that other tests of this process expect.
    store.command("DROP DATABASE IF EXISTS retrospan")
    store.command("CREATE DATABASE retrospan")
    store.close()


@pytest.fixture
def start(tmp_path: Path, engine_server: EngineServer) -> Iterator[Start]:
    """Starts collectors on the server; all are killed at the end."""
    started: list[Served] = []

    def begin(name: str, *flags: str, port: int = engine_server.port, patience: float = 60.0) -> Served:
        config = tmp_path / f"{name}.toml"
        config.write_text(f"[server]\ntimeout_seconds = {patience}\n")
        address = f"clickhouse://me:p%40ss%2Fword@127.0.0.1:{port}/retrospan"
        collector = Served(
            tmp_path / name,
            tmp_path / f"{name}.txt",
            "--warehouse",
            address,
            "--config",
            str(config),
            *flags,
        )
        started.append(collector)
        return collector

    yield begin
    for collector in started:
        collector.kill()
        assert "p@ss" not in collector.stderr() and "p%40ss" not in collector.stderr()


def spans(number: int) -> list[bytes]:
    """So many requests of ten spans each, each request a trace."""
    requests = []
    for _ in range(number):
        first = otlp.span()
        requests.append(
            otlp.traces(first, *(otlp.span(trace_id=first.trace_id) for _ in range(9))).SerializeToString()
        )
    return requests


def stored(store: EmbeddedStore) -> list[list[object]]:
    return store.rows("SELECT count(), uniqExact(trace_id, span_id) FROM retrospan.raw_spans")


@pytest.mark.long
def test_what_is_sent_is_asked_for_as_with_an_embedded_warehouse(
    start: Start, engine_server: EngineServer, recordings: dict[str, Recording]
) -> None:
    recording = recordings["langgraph-openinference/multiturn"]
    collector = start("one")
    collector.send(recording.traces, recording.logs)
    collector.wait_idle()
    rows = collector.rows("SELECT run_id, outcome FROM runs")
    assert rows and {row["outcome"] for row in rows} == {"ok"}
    assert len(collector.run("runs", "--json").splitlines()) == len(rows)
    found = collector.rows("SELECT step FROM steps WHERE run_id = {run:String}", run=rows[0]["run_id"])
    assert found
    assert collector.run("show", "last")
    assert not (collector.data / "warehouse").exists()
    assert collector.stop() == 0
    again = start("one")
    assert {row["run_id"] for row in again.rows("SELECT run_id FROM runs")} == {row["run_id"] for row in rows}


@pytest.mark.long
def test_no_request_writes_through_the_sql_port(start: Start, engine_server: EngineServer) -> None:
    collector = start("one")
    collector.until(lambda: collector.health()["status"] == "ok")
    for statement in ("DROP TABLE raw_spans", "SELECT file('/etc/passwd')", "SELECT 1 SETTINGS readonly = 0"):
        said = collector.run("sql", statement, code=2)
        assert not said
    assert collector.run("sql", "SELECT getSetting('readonly') AS r", "--format", "csv").split()[-1] == "1"


@pytest.mark.long
@pytest.mark.requirement("R09")
def test_a_server_that_is_away_costs_no_exporter_anything(
    start: Start, engine_server: EngineServer, warehouse: EmbeddedWarehouse
) -> None:
    engine_server.fault = Fault(down=True)
    collector = start("one")
    requests = spans(30)
    collector.send(requests[:10])
    health = collector.health()
    assert health["status"] == "failing" and "loading stopped" in health["reasons"][0]
    assert (health["durable_sequence"], health["loaded_sequence"]) == (10, 0)
    said = collector.run("sql", "SELECT 1", code=2)
    assert not said
    engine_server.fault = Fault()
    collector.wait_idle()
    assert len(collector.rows("SELECT run_id FROM runs")) == 10
    # Once more, while it runs; and the collector is stopped and killed meanwhile.
    engine_server.fault = Fault(down=True)
    engine_server.cut_all()
    collector.send(requests[10:20])
    collector.kill()
    collector = start("one")
    collector.send(requests[20:])
    engine_server.fault = Fault()
    collector.wait_idle()
    assert collector.health()["status"] == "ok", collector.health()["reasons"]
    store = warehouse.connect()
    assert stored(store) == [[300, 300]]
    arrived = store.rows("SELECT trace_id FROM retrospan.arrivals ORDER BY sequence")
    sent = [ExportTraceServiceRequest.FromString(request) for request in requests]
    order = [each.resource_spans[0].scope_spans[0].spans[0].trace_id.hex() for each in sent]
    assert [row[0] for row in arrived] == order
    store.close()


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(cut=3), id="cut", marks=pytest.mark.long),
        pytest.param(Fault(slow_seconds=1.0), id="slow", marks=pytest.mark.soak),
        pytest.param(Fault(hang=True), id="hang", marks=pytest.mark.soak),
        pytest.param(Fault(refuse=241), id="refuse", marks=pytest.mark.soak),
    ],
)
@pytest.mark.requirement("R10")
def test_whatever_becomes_of_an_answer_every_span_is_there_once(
    start: Start, engine_server: EngineServer, warehouse: EmbeddedWarehouse, fault: Fault
) -> None:
    collector = start("one", patience=3.0 if fault.hang else 60.0)
    collector.send(spans(1))
    collector.wait_idle()
    engine_server.fault = fault
    for request in spans(8):
        began = time.monotonic()
        collector.send([request])
        assert time.monotonic() - began < 30, "who sends does not wait for the warehouse"
    if fault.cut:
        collector.until(lambda: not engine_server.fault.cut)
    elif not fault.slow_seconds:
        collector.until(lambda: bool(collector.health()["load_failure"]))
    engine_server.fault = Fault()
    collector.wait_idle()
    store = warehouse.connect()
    # Not even before rows merge is one there twice: the token made the repeated insert nothing.
    assert stored(store) == [[90, 90]]
    tokens = [token for token in engine_server.tokens if token]
    if fault.cut:
        assert len(tokens) > len(set(tokens)), "an insert was repeated under its token"
    runs = store.rows("SELECT count() FROM retrospan.runs")
    steps = store.rows("SELECT count(), uniqExact(run_id, step) FROM retrospan.steps")
    assert runs == [[9]]
    assert steps[0][0] == steps[0][1]
    store.close()


@pytest.mark.soak
def test_collectors_and_interpreters_share_one_server(
    start: Start, engine_server: EngineServer, warehouse: EmbeddedWarehouse
) -> None:
    receivers = [start(f"receive-{number}", "--role", "receive") for number in (1, 2)]
    interpreters = [start(f"interpret-{number}", "--role", "interpret") for number in (1, 2)]
    assert not (interpreters[0].data).exists(), "who receives nothing keeps nothing"
    for interpreter in interpreters:
        interpreter.until(lambda i=interpreter: i.health()["parts"] == 16)  # type: ignore[misc]
    requests = spans(40)
    halves = [ExportTraceServiceRequest.FromString(request) for request in requests]
    parts: list[list[bytes]] = [[], []]
    for whole in halves:
        # Each trace comes half to the one and half to the other.
        sent = list(whole.resource_spans[0].scope_spans[0].spans)
        for number, some in enumerate((sent[:5], sent[5:])):
            parts[number].append(otlp.traces(*some).SerializeToString())
    for receiver, bodies in zip(receivers, parts, strict=True):
        receiver.send(bodies)
    store = warehouse.connect()

    def is_read() -> bool:
        return store.rows("SELECT count(), sum(model_calls) FROM retrospan.runs") == [[40, 400]]

    receivers[0].until(is_read, 90.0)
    done = [i.rows("SELECT run_id FROM runs WHERE model_calls = 10") for i in interpreters]
    assert [len(rows) for rows in done] == [40, 40]
    assert store.rows("SELECT uniqExact(bitShiftRight(sequence, 40)) FROM retrospan.arrivals") == [[2]]
    # One goes without a word: what it had is the other's, once its leases have run out.
    interpreters[0].process.send_signal(signal.SIGKILL)
    receivers[0].send(spans(10))
    receivers[0].until(lambda: store.rows("SELECT count() FROM retrospan.runs") == [[50]], 90.0)
    assert interpreters[1].health()["parts"] == 32
    assert interpreters[1].stop() == 0
    assert [receiver.stop() for receiver in receivers] == [0, 0]
    store.close()
