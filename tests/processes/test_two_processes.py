"""The process that receives and the process of the warehouse: either may be killed, and each ends as it should."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from bench.siege import warehouse_of
from fix_collector import Served
from keeping import agent_run, trace_of

from retrospan.ingest import collector as collector_module
from retrospan.ingest import supervisor as supervisor_module
from retrospan.ingest.collector import Collector
from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.setting_values import Address
from retrospan.schemas.errors import WarehouseUnavailable

SECONDS = 60.0
FREE = Address("127.0.0.1", 0)


def child_of(served: Served) -> int:
    pid = warehouse_of(served.process.pid)
    assert pid
    return pid


def until(holds: object) -> None:
    assert callable(holds)
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def runs(served: Served) -> set[str]:
    try:
        return {row["run_id"] for row in served.rows("SELECT run_id FROM runs")}
    except OSError:
        return set()


@pytest.mark.long
def test_what_is_sent_while_the_warehouse_is_dead_is_acknowledged_and_read_later(served: Served) -> None:
    served.send(traces=[agent_run("before", "ok")])
    pid = child_of(served)
    os.kill(pid, signal.SIGKILL)
    served.send(traces=[agent_run("meanwhile", "ok")])
    until(lambda: warehouse_of(served.process.pid) not in (0, pid))
    until(lambda: {trace_of("before"), trace_of("meanwhile")} <= runs(served))
    page = served.health()
    assert page["status"] == "degraded"
    assert page["warehouse_restarts"] == 1
    assert "SIGKILL" in page["warehouse_last_end"]
    assert served.stop() == 0


@pytest.mark.long
def test_the_warehouse_ends_with_the_process_that_receives(served: Served) -> None:
    served.send(traces=[agent_run("one", "ok")])
    pid = child_of(served)
    served.kill()
    served.start()  # at once: it waits for what the kill left behind
    until(lambda: trace_of("one") in runs(served))
    assert not Path(f"/proc/{pid}").exists()
    assert child_of(served) != pid


@pytest.mark.long
def test_signals_for_the_whole_group_are_for_the_process_that_receives(served: Served) -> None:
    pid = child_of(served)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(pid, number)
    assert served.rows("SELECT 1 AS one") == [{"one": 1}]
    assert child_of(served) == pid
    assert served.stop() == 0
    assert not Path(f"/proc/{pid}").exists()


def test_the_process_that_receives_never_loads_the_engine(served: Served) -> None:
    served.send(traces=[agent_run("one", "ok")])
    served.wait_idle()
    assert "chdb" not in Path(f"/proc/{served.process.pid}/maps").read_text()
    assert "chdb" in Path(f"/proc/{child_of(served)}/maps").read_text()


@pytest.mark.long
def test_the_environment_of_the_engine_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-secret-of-the-operator")
    served = Served(tmp_path / "data", tmp_path / "stderr.txt")
    try:
        environ = Path(f"/proc/{child_of(served)}/environ").read_bytes()
        assert {entry.partition(b"=")[0].decode() for entry in environ.split(b"\0") if entry} <= set(
            supervisor_module._KEPT
        )
    finally:
        served.kill()


@pytest.mark.long
def test_a_warehouse_that_hangs_is_killed_and_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "SILENT_SECONDS", 3.0)
    with Collector(Config(data=tmp_path, grpc=FREE, http=FREE, sql=FREE)) as collector:
        pid = collector._supervisor.pid
        os.kill(pid, signal.SIGSTOP)
        until(lambda: collector._supervisor.pid not in (0, pid) and not collector._supervisor.failure)
        assert "had not reported for" in collector._supervisor.last_end


@pytest.mark.long
def test_a_warehouse_that_takes_too_much_memory_is_killed_and_the_reason_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector_module, "BESIDE_ENGINE_BYTES", -(6 << 30) + (100 << 20))
    config = Config(data=tmp_path, grpc=FREE, http=FREE, sql=FREE)
    with pytest.raises(WarehouseUnavailable, match="bytes of memory where"):
        Collector(config).start()
    monkeypatch.undo()
    with Collector(config):
        pass


@pytest.mark.long
def test_a_collector_that_cannot_start_leaves_no_process_and_no_claim(tmp_path: Path) -> None:
    (tmp_path / "warehouse").write_text("not a directory")
    config = Config(data=tmp_path, grpc=FREE, http=FREE, sql=FREE)
    with pytest.raises(WarehouseUnavailable):
        Collector(config).start()
    assert warehouse_of(os.getpid()) == 0
    (tmp_path / "warehouse").unlink()
    with Collector(config):
        pass
