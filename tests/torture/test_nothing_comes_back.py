"""What was deleted stays deleted: over the real ports, after kill -9, a rebuild, and a backup that was restored."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest
from fix_collector import Served
from keeping import DAY, agent_run, trace_of
from torture.test_backup import procedure

from retrospan.ingest.log.write_ahead_log import WriteAheadLog

RUNS = 24
GONE = {trace_of(f"gone-{number}") for number in range(RUNS)}
KEPT = {trace_of(f"kept-{number}") for number in range(RUNS)}


def month_old_log(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log as a collector left it a month ago: runs that are due by now, and golden ones, several to a segment."""
    past = time.time_ns() - 31 * DAY
    with monkeypatch.context() as earlier:
        earlier.setattr(time, "time_ns", lambda: past)
        data.mkdir(mode=0o700)
        log = WriteAheadLog.open(data / "log", segment_bytes=20_000, low_water_bytes=0)
        for number in range(RUNS):
            log.append(tenant="default", traces=agent_run(f"gone-{number}", "ok", payload=6000), items=2)
            log.append(tenant="default", traces=agent_run(f"kept-{number}", "golden"), items=2)
        log.close()


def shown(collector: Served) -> set[str]:
    """Every trace that a view tells something of."""
    found = collector.rows("SELECT trace_id FROM spans UNION DISTINCT SELECT arrayJoin(trace_ids) FROM runs")
    return {str(row["trace_id"]) for row in found}


@contextmanager
def watching(collector: Served) -> Iterator[None]:
    """Ask again and again meanwhile: nothing that is gone may be shown, not for a moment."""
    seen, done = set[str](), threading.Event()

    def ask() -> None:
        while not done.is_set():
            try:
                seen.update(shown(collector) & GONE)
            except (HTTPError, URLError, ConnectionError):
                time.sleep(0.02)  # it does not answer just now

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        done.set()
        asking.join()
    assert not seen


def apply_and_kill(collector: Served) -> None:
    """Have runs deleted, and kill the collector once the first receipt is there."""
    command = [sys.executable, "-m", "retrospan.ingest.cli.main", "retention", "apply"]
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"RETROSPAN_URL": f"http://{collector.sql}"},
    ) as applying:
        collector.until(lambda: bool(collector.rows("SELECT number FROM retention_log LIMIT 1")), 120.0)
        collector.kill()
        applying.wait(60)


def told(collector: Served, run: str) -> str:
    """What who asks for a run that is not there reads."""
    asked = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", "show", run],
        env={"RETROSPAN_URL": f"http://{collector.sql}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 2
    return asked.stderr


@pytest.mark.long
@pytest.mark.requirement("R16")
def test_nothing_deleted_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("[limits]\nsegment_bytes = 20000\n")
    flags = ("--config", str(settings))
    data, backup = tmp_path / "data", tmp_path / "backup"
    month_old_log(data, monkeypatch)
    collector = Served(data, tmp_path / "stderr.txt", *flags)
    try:
        collector.wait_idle()
        assert shown(collector) == GONE | KEPT
        # Retention leaves the newest segment as it is: what comes now begins another.
        collector.send(traces=[agent_run("new", "golden", payload=20_000)])
        collector.wait_idle()
        archive = data / "log" / "archive"
        collector.until(
            lambda: not list((data / "log").glob("*.seg"))[1:] and any(archive.glob("*.zst")), 120.0
        )
        procedure(data, backup)
        apply_and_kill(collector)
        collector.start()
        collector.run("retention", "apply")
        collector.wait_idle()
        there = KEPT | {trace_of("new")}
        assert shown(collector) == there
        gone = trace_of("gone-0")
        assert re.search(
            rf"run {gone} was deleted .* receipt \d+ of log \d+ in retention_log", told(collector, gone[:9])
        )
        with watching(collector):
            collector.run("rebuild")
            collector.wait_idle()
        # The copy holds segments as they were before, and now as retention left them, with the receipts.
        procedure(data, backup)
        collector.run("verify", "--full")
        assert collector.stop() == 0
    finally:
        collector.kill()
    restored = Served(backup, tmp_path / "restored.txt", *flags)
    try:
        with watching(restored):
            restored.wait_idle()
            assert shown(restored) == there
            restored.kill()
            restored.start()
            restored.run("rebuild")
            restored.wait_idle()
        assert shown(restored) == there
        restored.run("retention", "apply")
        restored.run("verify", "--full")
        health = restored.health()
        assert (health["status"], health["reasons"]) == ("ok", [])
        assert restored.stop() == 0
    finally:
        restored.kill()
