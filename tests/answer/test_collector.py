"""The collector as a process: start, refuse, drain, recover, rebuild; and the Python interface against it."""

from __future__ import annotations

import http.client
import json
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fix_collector import Served
from fix_recordings import Recording
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from retrospan.queries import catalogue, connect
from retrospan.queries.connect import Views

LOOP = "genai-openai.span_and_event/loop"
PAIR = ("langgraph-openinference/diverge_a", "langgraph-openinference/diverge_b")
SERVE = [sys.executable, "-m", "retrospan.ingest.cli.main", "serve"]
ANY_PORTS = ["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--sql", "127.0.0.1:0"]
DROP_EVERYTHING = """
import sys
from pathlib import Path
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
warehouse = EmbeddedWarehouse(Path(sys.argv[1]))
store = warehouse.connect()
for name, engine in store.rows("SELECT name, engine FROM system.tables WHERE database = 'retrospan'"):
    if name != "schema_migrations":
        store.command("DROP " + ("VIEW" if engine == "View" else "TABLE") + " {name:Identifier}", {"name": str(name)})
warehouse.close()
"""


def contents(served: Served) -> dict[str, list[str]]:
    """What readers see, without the columns that may differ."""
    return {
        view: sorted(
            json.dumps({key: value for key, value in row.items() if key != "ingested_at"}, sort_keys=True)
            for row in served.rows(f"SELECT * FROM {view}")
        )
        for view in (
            "spans",
            "runs",
            "model_calls",
            "tool_calls",
            "messages",
            "steps",
            "provenance_edges",
            "findings",
            "loops",
        )
    }


@pytest.mark.long
def test_one_line_says_it_is_ready_and_sigterm_drains(
    served: Served, recordings: dict[str, Recording]
) -> None:
    recording = recordings[LOOP]
    served.send(recording.traces, recording.logs)
    assert served.stop() == 0  # at once: nothing of it was interpreted yet
    assert len(served.stderr().splitlines()) <= 10
    served.start()
    (run,) = served.rows("SELECT outcome, steps FROM runs")
    assert int(run["steps"]) > 0
    assert "0 to load" in served.stderr().splitlines()[-1]
    assert served.process.poll() is None
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(60) == 0
    assert served.process.stdout is not None
    assert served.process.stdout.read() == ""
    served.process.stdout.close()


@pytest.mark.long
def test_a_second_process_on_the_directory_or_a_port_is_refused_by_name(
    served: Served, tmp_path: Path
) -> None:
    pid = f"pid {served.process.pid}"

    def refused(*words: str) -> str:
        done = subprocess.run([*SERVE, *words], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) <= 2, done.stderr
        return done.stderr

    assert f"{served.data} is in use by {pid}" in refused("--data", str(served.data), *ANY_PORTS)
    other = str(tmp_path / "other")
    for flag, address in (("--grpc", served.grpc), ("--http", served.http), ("--sql", served.sql)):
        ports = [
            word if previous != flag else address
            for previous, word in zip(["", *ANY_PORTS], ANY_PORTS, strict=False)
        ]
        said = refused("--data", other, *ports)
        assert f"{address} is in use by {pid}" in said
        assert f"retrospan serve {flag} 127.0.0.1:0" in said
    assert "unknown key" in refused("--config", str(written(tmp_path / "c.toml", 'gprc = "127.0.0.1:1"\n')))
    assert served.rows("SELECT 1 AS x") == [{"x": 1}]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.long
def test_a_rebuild_after_every_table_was_dropped_gives_equal_rows(
    served: Served, recordings: dict[str, Recording]
) -> None:
    for name in (LOOP, *PAIR):
        served.send(recordings[name].traces, recordings[name].logs)
    served.wait_idle()
    before = contents(served)
    assert all(before.values())
    assert served.stop() == 0
    subprocess.run(
        [sys.executable, "-c", DROP_EVERYTHING, str(served.data / "warehouse")], check=True, timeout=60
    )
    served.start()
    lines = [json.loads(line) for line in admin(served, "rebuild").splitlines()]
    assert lines[-1] == {"done": True}
    assert lines[-2]["records"] > 0
    assert {line["phase"] for line in lines[:-2]} == {"loading", "interpreting"}
    assert contents(served) == before
    lines = [json.loads(line) for line in admin(served, "rebuild", b'{"version": "0"}').splitlines()]
    assert lines[-2:] == [{"traces": 0}, {"done": True}]
    assert "does not take 'runs'" in admin(served, "rebuild", b'{"runs": 1}')
    assert contents(served) == before
    assert json.loads(admin(served, "migrate").splitlines()[-1]) == {"done": True}


def admin(served: Served, command: str, arguments: bytes = b"") -> str:
    host, _, port = served.sql.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=120)
    try:
        connection.request("POST", f"/admin/v1/{command}", arguments)
        response = connection.getresponse()
        assert response.status == 200
        return response.read().decode()
    finally:
        connection.close()


@pytest.mark.long
def test_a_torn_log_is_cut_and_reported(served: Served, recordings: dict[str, Recording]) -> None:
    served.send(recordings[LOOP].traces)
    served.kill()
    (segment,) = (served.data / "log").glob("*.seg")
    with segment.open("ab") as log:
        log.write(b"\xff\x07half a record")
    served.start()
    served.wait_idle()
    health = served.health()
    assert (health["status"], health["recovery_cut_bytes"]) == ("degraded", 15)
    assert "15 bytes were cut off the log's end" in health["reasons"][0]
    assert "15 bytes were cut" in served.stderr()
    assert len(served.rows("SELECT run_id FROM runs")) == 1


@pytest.mark.soak
def test_queries_do_not_hold_up_intake(served: Served, recordings: dict[str, Recording]) -> None:
    answers: list[object] = []

    def ask() -> None:
        try:
            answers.append(served.rows("SELECT count() FROM numbers(1e14)"))
        except OSError as error:
            answers.append(error)

    heavy = [threading.Thread(target=ask) for _ in range(6)]
    for thread in heavy:
        thread.start()
    served.until(
        lambda: int(served.rows("SELECT value FROM system.metrics WHERE metric = 'Query'")[0]["value"]) > 6
    )
    served.send(recordings[LOOP].traces, recordings[LOOP].logs)
    served.until(lambda: len(served.rows("SELECT run_id FROM runs")) == 1)
    assert answers == []  # all of them were running the whole time
    served.kill()
    for thread in heavy:
        thread.join()
    assert len(answers) == len(heavy)


@pytest.mark.long
def test_rejects_are_counted_on_every_page(served: Served) -> None:
    host, _, port = served.http.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    connection.request("POST", "/v1/traces", b"\xff\xff", {"Content-Type": "application/x-protobuf"})
    assert connection.getresponse().status == 400
    connection.close()
    served.wait_idle()
    assert served.health()["rejects"] == 1
    assert [row["signal"] for row in served.rows("SELECT signal FROM rejects")] == ["traces"]
    host, _, port = served.sql.rpartition(":")
    page = http.client.HTTPConnection(host, int(port), timeout=30)
    page.request("GET", "/metrics")
    text = page.getresponse().read().decode()
    page.close()
    assert "retrospan_intake_requests_undecodable_total 1\n" in text
    assert "retrospan_loaded_sequence 1\n" in text
    assert "retrospan_healthy 1\n" in text


def test_each_view_has_a_method() -> None:
    assert [view.name for view in catalogue.views() if not callable(getattr(Views, view.name, None))] == []


@pytest.mark.long
def test_every_view_and_question_is_a_frame(served: Served, recordings: dict[str, Recording]) -> None:
    for name in (LOOP, *PAIR):
        served.send(recordings[name].traces, recordings[name].logs)
    served.wait_idle()
    warehouse = connect(f"http://{served.sql}")
    runs = warehouse.runs()
    assert runs.height == 3
    assert runs["started_at"].to_list() == sorted(runs["started_at"].to_list(), reverse=True)
    looping = warehouse.loops()["run_id"].to_list()
    assert len(looping) == 1
    run_id = looping[0]
    assert warehouse.runs(run_id=run_id, limit=5).height == 1
    assert warehouse.runs(run_id=run_id, agent_name="nobody").height == 0
    for frame in (
        warehouse.spans(run_id=run_id),
        warehouse.model_calls(run_id=run_id),
        warehouse.tool_calls(run_id=run_id),
        warehouse.messages(run_id=run_id),
        warehouse.steps(run_id=run_id),
        warehouse.provenance_edges(run_id=run_id),
        warehouse.texts(run_id=run_id),
    ):
        assert frame.height > 1
        assert set(frame["run_id"].to_list()) == {run_id}
    assert warehouse.context_use(run_id=run_id)["messages_lost"].sum() == 0
    assert (warehouse.failures(run_id=run_id).height, warehouse.retries(run_id=run_id).height) == (0, 0)
    assert warehouse.texts(run_id=run_id, kind="result")["tool_name"].n_unique() == 1
    assert warehouse.agents(run_id=run_id)["tool_calls"].sum() >= 3
    assert warehouse.steps(run_id=run_id, limit=2)["step"].to_list() == [1, 2]
    assert "messages" in warehouse.run_state(run_id, 2)["key"].to_list()
    a, b = [run for run in runs["run_id"].to_list() if run != run_id]
    assert warehouse.run_divergence(a, b).height == 1
    assert warehouse.run_diff(a, b).height > 1
    assert warehouse.provenance(f"step:{run_id}/2", 5).height >= 1
    assert warehouse.drift(agent="nobody").height == 0
    assert warehouse.drift()["statistic"].to_list() == ["too_few_runs"]
    assert (warehouse.rejects().height, warehouse.interpretation_problems(run_id=run_id).height) == (0, 0)
    assert list(connect(f"http://{served.sql}", pandas=True).runs(run_id=run_id)["run_id"]) == [run_id]


def request_of(chance: random.Random, spans: int) -> tuple[bytes, set[str]]:
    """An export of fresh spans, and their ids."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    ids: set[str] = set()
    trace_id = chance.randbytes(16)
    for _ in range(spans):
        span = scope.spans.add(trace_id=trace_id, span_id=chance.randbytes(8), name="load")
        span.start_time_unix_nano = 1_780_000_000 * 10**9
        span.end_time_unix_nano = span.start_time_unix_nano + 1
        ids.add(span.span_id.hex())
    return request.SerializeToString(), ids


def load(address: str, seed: int, acknowledged: set[str], ended: threading.Event) -> None:
    """Send until the collector dies; note what it acknowledged."""
    chance = random.Random(seed)
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    try:
        while not ended.is_set():
            body, ids = request_of(chance, 20)
            connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
            response = connection.getresponse()
            response.read()
            if response.status == 200:
                acknowledged |= ids
    except (OSError, http.client.HTTPException):
        pass
    finally:
        connection.close()


def kill_rounds(served: Served, rounds: int) -> None:
    acknowledged: set[str] = set()
    chance = random.Random(5)
    for turn in range(rounds):
        ended = threading.Event()
        mine: list[set[str]] = [set(), set(), set()]
        senders = [
            threading.Thread(target=load, args=(served.http, 1000 * turn + number, mine[number], ended))
            for number in range(len(mine))
        ]
        for sender in senders:
            sender.start()
        at = time.monotonic() + chance.uniform(0.05, 0.8)
        while time.monotonic() < at or not any(mine):
            time.sleep(0.005)
        served.kill()
        ended.set()
        for sender in senders:
            sender.join()
        acknowledged = acknowledged.union(*mine)
        served.start()
    served.wait_idle()
    counts = {
        row["span_id"]: int(row["n"])
        for row in served.rows("SELECT span_id, count() AS n FROM spans GROUP BY span_id")
    }
    missing = acknowledged - counts.keys()
    assert not missing, f"{len(missing)} of {len(acknowledged)} acknowledged spans are missing"
    assert set(counts.values()) == {1}
    assert served.health()["quarantine"] == 0


def test_what_was_acknowledged_is_there_once_after_kill_9(served: Served) -> None:
    kill_rounds(served, 1)


@pytest.mark.soak
def test_what_was_acknowledged_is_there_once_after_twenty_kills(served: Served) -> None:
    kill_rounds(served, 20)
