"""Probes on 4318: they tell receiving from answering, and nothing in the warehouse can hold them up."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from bench.siege import warehouse_of
from fix_collector import Served
from keeping import agent_run, trace_of


def get(served: Served, path: str, port: str = "http") -> tuple[int, dict[str, str], bytes]:
    where = {"http": served.http, "sql": served.sql}[port]
    try:
        with urllib.request.urlopen(f"http://{where}{path}", timeout=30) as reply:
            return reply.status, dict(reply.headers), reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read()


def page(served: Served, path: str) -> dict[str, Any]:
    found = json.loads(get(served, path)[2])
    assert isinstance(found, dict)
    return found


def test_both_ports_tell_the_same_of_a_collector_in_order(served: Served) -> None:
    for path in ("/health/live", "/health/ready", "/health"):
        for port in ("http", "sql"):
            assert get(served, path, port)[0] == 200
    assert get(served, "/health/answering")[0] == 200
    assert page(served, "/health/ready") == {"receiving": True, "answering": True, "reasons": []}
    assert page(served, "/health").keys() == served.health().keys()
    assert page(served, "/health")["warehouse_age_seconds"] < 30


@pytest.mark.long
def test_a_warehouse_that_is_stopped_leaves_the_probes_of_receiving_as_they_were(served: Served) -> None:
    pid = warehouse_of(served.process.pid)
    os.kill(pid, signal.SIGSTOP)
    try:
        before = page(served, "/health")["warehouse_age_seconds"]
        assert get(served, "/health/live")[0] == 200
        assert get(served, "/health/ready")[0] == 200
        served.send(traces=[agent_run("meanwhile", "ok")])
        time.sleep(1.2)
        told = page(served, "/health")
        assert told["warehouse_age_seconds"] > before
        assert told["load_lag_records"] == 1
    finally:
        os.kill(pid, signal.SIGCONT)
    served.until(
        lambda: {row["run_id"] for row in served.rows("SELECT run_id FROM runs")} == {trace_of("meanwhile")}
    )


@pytest.mark.long
def test_while_the_warehouse_starts_again_its_port_says_so_and_when_to_come_back(
    served: Served, tmp_path: Path
) -> None:
    # What cannot start again stays away for as long as the test looks.
    warehouse = served.data / "warehouse"
    os.kill(warehouse_of(served.process.pid), signal.SIGKILL)
    warehouse.rename(tmp_path / "aside")
    warehouse.write_text("not a directory")
    served.until(lambda: get(served, "/health/answering")[0] == 503)
    status, headers, body = get(served, "/?query=SELECT+1", "sql")
    assert (status, headers["retry-after"]) == (503, "1")
    assert b"SIGKILL" in body or b"starting again" in body
    assert get(served, "/health/live", "sql")[0] == 200
    assert get(served, "/health/ready", "sql")[0] == 503
    assert get(served, "/health/ready")[0] == 200
    found = page(served, "/health/ready")
    assert (found["receiving"], found["answering"]) == (True, False)
    assert found["reasons"]
    health = page(served, "/health")
    assert health["status"] == "failing"
    assert "nothing is answered" in health["reasons"][0]
    served.send(traces=[agent_run("meanwhile", "ok")])
    warehouse.unlink()
    (tmp_path / "aside").rename(warehouse)
    served.until(lambda: get(served, "/health/answering")[0] == 200)
    served.until(
        lambda: {row["run_id"] for row in served.rows("SELECT run_id FROM runs")} == {trace_of("meanwhile")}
    )
