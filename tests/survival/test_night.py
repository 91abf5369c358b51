"""The agent crashed at 03:12 after 847 observations: what did it believe? Asked over SQL and on the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fix_collector import Served
from survival.night_agent import OBSERVATIONS, WRITES

pytestmark = pytest.mark.long

AGENT = Path(__file__).with_name("night_agent.py")


@dataclass(frozen=True)
class Killed:
    """A run whose process was killed, and where it left what it had said."""

    run_id: str
    reference: str
    spool: Path


def environment(endpoint: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "RETROSPAN_"))}
    return {**kept, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}


def wait_for_spool(spool: Path, files: str, text: bytes) -> None:
    """Wait until one of these files of the spool holds a text."""
    deadline = time.monotonic() + 300
    while not any(text in file.read_bytes() for file in spool.glob(files)):
        assert time.monotonic() < deadline, f"{spool} never held {text!r}"
        time.sleep(0.02)


def kill_one(run_id: str, spool: Path) -> Killed:
    """Start an agent that reaches no collector, and kill it once it has said all and its spool holds it."""
    with subprocess.Popen(
        [sys.executable, str(AGENT), "watch", run_id, str(spool)],
        env=environment("http://127.0.0.1:9"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as agent:
        assert agent.stdout is not None
        reference = agent.stdout.readline().strip()
        assert agent.stdout.readline() == "ready\n"
        # The last effect has begun, and the span of the one before has ended: log records and spans are files apart.
        wait_for_spool(spool, "*.logs", b"acme-1")
        wait_for_spool(spool, "*.otlp", f'{{"n":{WRITES - 1}}}'.encode())
        agent.send_signal(signal.SIGKILL)
    return Killed(reference.split(";")[0], reference, spool)


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("night")
    served = Served(folder / "data", folder / "stderr.txt")
    yield served
    served.kill()


@pytest.fixture(
    scope="module",
    params=["-", pytest.param("night-0312", marks=pytest.mark.long)],
    ids=["own id", "given id"],
)
def killed(
    request: pytest.FixtureRequest, collector: Served, tmp_path_factory: pytest.TempPathFactory
) -> Killed:
    found = kill_one(request.param, tmp_path_factory.mktemp("spool") / "spool")
    done = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", "spool", "send", str(found.spool)],
        env=environment(f"http://{collector.http}"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    collector.until(
        lambda: len(collector.rows("SELECT 1 FROM runs WHERE run_id = {id:String}", id=found.run_id)) == 1
    )
    collector.wait_idle()
    return found


def test_every_observation_is_there_once(killed: Killed, collector: Served) -> None:
    (found,) = collector.rows(
        "SELECT toUInt32(count()) AS all, toUInt32(uniqExact(observation_id)) AS ids, max(toInt64(value)) AS last "
        "FROM observations WHERE run_id = {id:String}",
        id=killed.run_id,
    )
    assert {name: int(value) for name, value in found.items()} == {
        "all": OBSERVATIONS,
        "ids": OBSERVATIONS,
        "last": OBSERVATIONS - 1,
    }


def test_the_run_is_known_as_killed(killed: Killed, collector: Served) -> None:
    (run,) = collector.rows(
        "SELECT agent_name, input, conversation_id, outcome, incomplete_because, ended_by FROM runs "
        "WHERE run_id = {id:String}",
        id=killed.run_id,
    )
    assert run == {
        "agent_name": "orla",
        "input": "Watch acme.",
        "conversation_id": "c-0312",
        "outcome": "killed",
        "incomplete_because": "killed",
        "ended_by": "spool",
    }


def test_the_open_act_is_known_with_its_arguments(killed: Killed, collector: Served) -> None:
    (last,) = collector.rows(
        "SELECT s.task_step_name AS step, s.status AS status, s.state_before AS state, t.arguments AS arguments "
        "FROM steps AS s INNER JOIN tool_calls AS t USING (run_id, step) "
        "WHERE run_id = {id:String} AND t.tool_name = 'restart'",
        id=killed.run_id,
    )
    assert (last["step"], last["status"], json.loads(last["arguments"])) == (
        "repair",
        "incomplete",
        {"host": "acme-1"},
    )
    states = collector.rows(
        "SELECT state_before FROM steps WHERE run_id = {id:String} AND task_step_name = 'repair' ORDER BY step LIMIT 1",
        id=killed.run_id,
    )
    assert json.loads(states[0]["state_before"]) == {"phase": "repair", "limit": OBSERVATIONS - 1}


def test_only_the_effect_that_was_open_is_unknown(killed: Killed, collector: Served) -> None:
    found = collector.rows(
        "SELECT tool_name, effect_status FROM effects WHERE run_id = {id:String}", id=killed.run_id
    )
    assert sorted((row["tool_name"], row["effect_status"]) for row in found) == [
        ("restart", "unknown"),
        *[("write", "executed")] * WRITES,
    ]


def test_the_command_line_tells_it(killed: Killed, collector: Served) -> None:
    assert "killed" in collector.run("runs")
    assert "restart" in collector.run("show", killed.run_id)
    assert f"{OBSERVATIONS - 1}" in collector.run("entity", "config/acme")


def test_a_resumed_run_settles_what_was_unknown(killed: Killed, collector: Served) -> None:
    subprocess.run(
        [sys.executable, str(AGENT), "resume", killed.reference, str(killed.spool)],
        env=environment(f"http://{collector.http}"),
        check=True,
        timeout=120,
    )
    ask = "SELECT run_id, outcome, parent_link FROM runs WHERE parent_run_id = {id:String}"
    collector.until(lambda: len(collector.rows(ask, id=killed.run_id)) == 1)
    collector.wait_idle()
    (after,) = collector.rows(ask, id=killed.run_id)
    assert (after["outcome"], after["parent_link"]) == ("ok", "resumes")
    problems = collector.rows(
        "SELECT tool_name, problem FROM effects WHERE run_id = {id:String} AND problem != ''",
        id=killed.run_id,
    )
    assert problems == []
