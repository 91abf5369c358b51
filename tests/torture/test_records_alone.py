"""Runs that log records alone tell: counted once however often they come, exact after kill -9, and deleted like any other."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from fix_collector import Served
from keeping import DAY, agent_run
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from told_scenes import SCENES, sent_by

from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.receive.intake import Intake

#: Two of the scenes hold two prompts each.
RUNS = len(SCENES) + 2
_RUNS = """
SELECT run_id, outcome, model_calls, tool_calls, input_tokens, output_tokens, toString(cost) AS cost, input, output
FROM runs
ORDER BY run_id
"""


def month_old_log(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log as a collector left it a month ago, with what each scene sent."""
    past = time.time_ns() - 31 * DAY
    with monkeypatch.context() as earlier:
        earlier.setattr(time, "time_ns", lambda: past)
        data.mkdir(mode=0o700)
        log = WriteAheadLog.open(data / "log", segment_bytes=20_000, low_water_bytes=0)
        intake = Intake(log)
        for scene in SCENES:
            for body in sent_by(scene):
                intake.logs(body)
        log.close()


@pytest.mark.long
def test_they_are_runs_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("[limits]\nsegment_bytes = 20000\n")
    month_old_log(tmp_path / "data", monkeypatch)
    collector = Served(tmp_path / "data", tmp_path / "stderr.txt", "--config", str(settings))
    try:
        collector.wait_idle()
        found = collector.rows(_RUNS)
        assert len(found) == RUNS
        assert collector.rows("SELECT count() AS n FROM spans") == [{"n": 0}]
        assert collector.rows("SELECT sum(spans) AS n FROM span_arrivals") == [{"n": 0}]
        claude = [row for row in found if row["output"] == "The job says: done-9943."]
        # What Claude Code says that it cost: the first request 0.006078 USD, the second 0.0043986.
        assert {row["cost"] for row in claude} == {"0.0104766"}
        # All of it once more, backwards, and killed in between.
        collector.send(logs=[body for scene in SCENES for body in sent_by(scene)][::-1])
        collector.kill()
        collector.start()
        collector.wait_idle()
        assert collector.rows(_RUNS) == found
        collector.run("verify", "--full", "--derived")
        run_id = str(claude[0]["run_id"])
        shown = collector.run("show", run_id)
        assert "plum-2207" in shown and "Bash" in shown
        assert run_id[:8] in collector.run("find", "plum-2207")
        assert "log records alone tell this run" in collector.run("doctor", "--run", run_id)
        collector.run("export", run_id, "--logs", str(tmp_path / "logs.bin"))
        exported = ExportLogsServiceRequest.FromString((tmp_path / "logs.bin").read_bytes())
        names = [
            record.body.string_value
            for group in exported.resource_logs
            for scope in group.scope_logs
            for record in scope.log_records
        ]
        assert len(names) == 7 and "claude_code.api_request" in names
        collector.run("export", run_id, "--otlp", "-", code=2)  # it has no span
        collector.run("rebuild")
        collector.wait_idle()
        assert collector.rows(_RUNS) == found
        assert collector.stop() == 0
    finally:
        collector.kill()


@pytest.mark.long
def test_nothing_of_them_is_left_once_they_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("[limits]\nsegment_bytes = 20000\n")
    data = tmp_path / "data"
    month_old_log(data, monkeypatch)
    collector = Served(data, tmp_path / "stderr.txt", "--config", str(settings))
    try:
        collector.wait_idle()
        assert len(collector.rows(_RUNS)) == RUNS
        # Retention leaves the newest segment as it is: what comes now begins another.
        collector.send(traces=[agent_run("new", "golden", payload=20_000)])
        collector.wait_idle()
        archive = data / "log" / "archive"
        collector.until(
            lambda: not list((data / "log").glob("*.seg"))[1:] and any(archive.glob("*.zst")), 120.0
        )
        collector.run("retention", "apply")
        collector.wait_idle()
        assert collector.rows("SELECT DISTINCT event_name FROM logs") == []
        collector.run("rebuild")
        collector.wait_idle()
        assert collector.rows("SELECT count() AS n FROM runs WHERE input LIKE '%plum-2207%'") == [{"n": 0}]
        collector.run("verify", "--full")
        assert collector.stop() == 0
    finally:
        collector.kill()
