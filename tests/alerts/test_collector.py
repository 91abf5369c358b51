"""A real collector with alert rules: told over sockets, through restarts and kill -9, and what commands say of it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from alerts.targets import Heard, answer, listening
from fix_collector import Served
from otlp_requests import span, traces

RULES = """
[[target]]
name = "hook"
url = "http://127.0.0.1:{port}/alerts"
secret_file = "{key}"
allow_private = true

[[target]]
name = "program"
command = ["{program}"]

[[rule]]
name = "any-run"
view = "runs"
condition = "count() > 0"
window = "1h"
cooldown = "1h"
severity = "critical"
to = {to}

[[rule]]
name = "broken"
view = "steps"
condition = "no_such_column > 1"
window = "1h"
to = ["program"]
"""


class Alerted:
    """A collector with rules; `heard` is what came to its webhook."""

    def __init__(self, folder: Path, heard: Heard, to: str = '["hook", "program"]') -> None:
        folder.chmod(0o700)
        key, program, rules, config = (folder / name for name in ("key", "program", "rules", "config"))
        key.write_text("a secret of thirty-two characters")
        program.write_text(f"#!/bin/sh\ncat >> {folder}/told\n")
        program.chmod(0o700)
        key.chmod(0o600)
        rules.write_text(RULES.format(port=heard.port, key=key, program=program, to=to))
        config.write_text(f'[alerts]\nrules = "{rules}"\nevery_seconds = 1\n')
        self.told = folder / "told"
        self.heard = heard
        self.served = Served(folder / "data", folder / "stderr.txt", "--config", str(config))

    def send_run(self) -> None:
        one = span()
        now = time.time_ns()
        one.start_time_unix_nano, one.end_time_unix_nano = now - 10**9, now
        self.served.send([traces(one).SerializeToString()])
        self.served.wait_idle()

    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.heard.requests]

    def metric(self, name: str) -> float:
        with urllib.request.urlopen(f"http://{self.served.sql}/metrics", timeout=30) as reply:
            page = reply.read().decode()
        (line,) = [line for line in page.splitlines() if line.startswith(f"retrospan_alerts_{name} ")]
        return float(line.split()[1])

    def evaluated_again(self) -> None:
        """Wait for two further passes over the rules."""
        wanted = self.metric("evaluations_total") + 4
        self.served.until(lambda: self.metric("evaluations_total") >= wanted)


@pytest.fixture
def heard() -> Iterator[Heard]:
    with listening(answer("204 No Content")) as found:
        yield found


@pytest.mark.long
def test_targets_are_told_once_of_a_run_and_a_restart_tells_nobody_again(
    tmp_path: Path, heard: Heard
) -> None:
    alerted = Alerted(tmp_path, heard)
    served = alerted.served
    try:
        alerted.evaluated_again()
        assert heard.requests == [] and not alerted.told.exists()
        alerted.send_run()
        served.until(lambda: bool(heard.requests) and alerted.told.exists())
        (body,) = alerted.bodies()
        (run,) = served.rows("SELECT run_id FROM runs")
        assert body["alert"]["rule"] == "any-run" and body["alert"]["matched"] == 1
        assert body["rows"][0]["why"] == f"retrospan why {run['run_id']}"
        served.until(lambda: alerted.metric("sent_total") == 2)
        assert json.loads(alerted.told.read_text())["alert"] == body["alert"]
        _commands(alerted)
        served.run("rebuild")
        assert '"sent"' in served.run("alerts", "list", "--json"), "what was told outlives the tables"
        requests = len(heard.requests)  # with those of tests
        for end in (served.stop, served.kill):
            end()
            served.start()
            alerted.evaluated_again()
            assert len(heard.requests) == requests and alerted.metric("attempts_total") == 0
    finally:
        served.kill()


def _commands(alerted: Alerted) -> None:
    served = alerted.served
    listed = served.run("alerts", "list")
    assert "any-run" in listed and "fires (1 row)" in listed and "fails: " in listed
    assert re.search(r" \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n", listed)
    rows = [json.loads(line) for line in served.run("alerts", "list", "--json").splitlines()]
    assert [each["outcome"] for each in rows[0]["alerts"]] == ["sent", "sent"] and rows[0]["evaluated_here"]
    before = len(alerted.heard.requests)
    tested = served.run("alerts", "test", "any-run")
    assert "the condition holds; 1 row in the window" in tested and "hook: told" in tested
    assert len(alerted.heard.requests) == before + 1 and alerted.bodies()[-1]["test"] is True
    assert "fails" in served.run("alerts", "test", "broken", "--dry-run", code=1)
    served.run("alerts", "test", "any-ran", code=2)
    served.run("alerts", "list", "any-run", code=2)
    # What fails is where people look: health, doctor, metrics.
    assert "the rule broken: " in str(served.health()["reasons"])
    found = served.run("doctor", "--json")
    (finding,) = [each for each in map(json.loads, found.splitlines()) if each["check"] == "alerts"]
    assert finding["result"] == "warning" and "the rule broken: " in finding["said"]
    assert alerted.metric("failures_total") > 0


@pytest.mark.long
def test_killed_while_a_target_answers_it_tells_again_under_the_same_id(tmp_path: Path) -> None:
    def never(connection: socket.socket) -> None:
        connection.recv(1)

    with listening(never) as silent:
        alerted = Alerted(tmp_path, silent, '["hook"]')
        served = alerted.served
        try:
            alerted.send_run()
            served.until(lambda: bool(silent.requests))
        finally:
            served.kill()
    with listening(answer("200 OK"), port=silent.port) as heard:
        try:
            served.start()
            served.until(lambda: bool(heard.requests))
            served.until(lambda: alerted.metric("sent_total") == 1)
        finally:
            served.kill()
    first, again = json.loads(silent.requests[0][1]), json.loads(heard.requests[0][1])
    assert again["alert"] == first["alert"]
    assert (first["attempt"], again["attempt"]) == (1, 2)


@pytest.mark.long
def test_a_dead_target_is_seen(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = Heard(taken.getsockname()[1])
    alerted = Alerted(tmp_path, nobody)
    served = alerted.served
    try:
        alerted.send_run()
        served.until(lambda: "the target hook: " in str(served.health()["reasons"]))
        assert "hook → " not in served.run("alerts", "list", "--json")
        assert "any-run → hook: pending" in served.run("alerts", "list")
        assert alerted.metric("refusals_total") >= 1 and alerted.metric("pending") == 1
        served.until(alerted.told.exists)
    finally:
        served.kill()


def _runs(served: Served) -> int | None:
    """Return how many runs there are; None while nobody answers."""
    try:
        return int(served.rows("SELECT count() AS runs FROM runs")[0]["runs"])
    except HTTPError:
        return None


@pytest.mark.long
def test_rules_that_are_spoilt_while_it_runs_keep_nobody_from_answers(tmp_path: Path, heard: Heard) -> None:
    alerted = Alerted(tmp_path, heard)
    served = alerted.served
    try:
        (tmp_path / "rules").write_text("[[rule]]\n")
        (warehouse,) = subprocess.run(
            ["pgrep", "-P", str(served.process.pid)], capture_output=True, text=True, check=True
        ).stdout.split()
        os.kill(int(warehouse), signal.SIGKILL)
        served.until(lambda: "nobody is told of anything" in str(served.health().get("reasons")))
        served.until(lambda: _runs(served) == 0)
    finally:
        served.kill()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'view = "runs"',
            'view = "rons"',
            "rules line 14: view: there is no view 'rons'; did you mean 'runs'?",
        ),
        (
            'window = "1h"',
            'window = "60s"',
            "any-run: its window of 60 s is shorter than alerts.every_seconds",
        ),
    ],
)
def test_a_collector_does_not_start_with_rules_that_cannot_be_meant(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    rules, config = tmp_path / "rules", tmp_path / "config"
    text = RULES.format(port=1, key="/key", program="/bin/true", to='["hook"]')
    rules.write_text(text.replace(old, new, 1))
    config.write_text(f'[alerts]\nrules = "{rules}"\nevery_seconds = 61\n')
    done = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", "serve", "--data", str(tmp_path / "data"),
         "--config", str(config)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and said in done.stderr, done.stderr
