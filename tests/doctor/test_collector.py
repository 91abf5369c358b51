"""`retrospan doctor` and `retrospan migrate` against a real collector, and against the directory of one that ended."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fix_collector import Served
from fix_recordings import Recording
from ports import unused_port

from retrospan.ingest.machine.confinement import landlock_abi
from retrospan.ingest.settings.config import KEYS

LOOP = "genai-openai.span_and_event/loop"
CONFINED = landlock_abi() >= 4
"""Whether this machine's kernel can."""
COMMAND = [sys.executable, "-m", "retrospan.ingest.cli.main"]
FORGET = """
import sys
from pathlib import Path
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
warehouse = EmbeddedWarehouse(Path(sys.argv[1]))
warehouse.connect().command(sys.argv[2])
warehouse.close()
"""


def run(*words: str, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """A command line with those variables, of ours and of OpenTelemetry, only."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RETROSPAN_", "OTEL_"))}
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, timeout=120, check=False, env=kept | dict(environ)
    )


def doctor(code: int, environ: Mapping[str, str], *words: str) -> dict[str, dict[str, Any]]:
    """The findings by check."""
    done = run("doctor", "--json", *words, environ=environ)
    assert done.returncode == code, done.stdout + done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(bool(finding["todo"]) == (finding["result"] != "ok") for finding in found), found
    return {finding["check"]: finding for finding in found}


def results(found: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {check: finding["result"] for check, finding in found.items()}


def alone(data: Path) -> dict[str, str]:
    """The variables of somebody whose collector does not run, on ports that are free."""
    return {
        "RETROSPAN_DATA": str(data),
        **{f"RETROSPAN_{name}": "127.0.0.1:0" for name in ("GRPC", "HTTP", "SQL")},
        "RETROSPAN_LIMITS_LOW_WATER_BYTES": "1 MB",
    }


def closed(data: Path) -> dict[str, str]:
    """The same, with an address where nothing listens."""
    return {**alone(data), "RETROSPAN_URL": f"http://127.0.0.1:{unused_port()}"}


@pytest.mark.long
def test_a_collector_that_is_well(served: Served, recordings: dict[str, Recording]) -> None:
    served.send(recordings[LOOP].traces, recordings[LOOP].logs)
    served.wait_idle()
    environ = {
        "RETROSPAN_URL": f"http://{served.sql}",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{served.grpc}",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
    }
    found = doctor(0 if CONFINED else 1, environ, "--exit-code")
    assert {check for check, result in results(found).items() if result != "ok"} == (
        set() if CONFINED else {"confinement"}
    )
    assert list(found) == [
        "settings", "collector", "disk", "log", "intake", "loading", "interpretation", "quarantine", "tables",
        "migrations", "alerts", "engine", "confinement", "clock", "ports", "private", "sync", "core", "tokens",
        "exporters",
    ]  # fmt: skip
    assert str(served.data) in found["disk"]["said"]
    assert f"grpc={served.grpc} http={served.http} sql={served.sql}" in found["ports"]["said"]
    assert not list(served.data.glob(".retrospan-doctor*"))
    lines = run("doctor", environ=environ).stdout.splitlines()
    assert lines[1 + len(KEYS)].startswith("ok       collector      ") and lines[-1] == (
        "all 20 well" if CONFINED else "0 failed, 1 warning, 19 ok"
    )


@pytest.mark.long
def test_the_settings_in_force_are_those_of_the_collector_that_runs(served: Served, tmp_path: Path) -> None:
    url = {"RETROSPAN_URL": f"http://{served.sql}"}
    finding = doctor(0, {**url, "RETROSPAN_DRAIN_SECONDS": "7", "RETROSPAN_DRAINED": "7", "RETROSPAN_PORT": "tcp://"})["settings"]  # fmt: skip
    assert finding["result"] == "warning" and finding["said"].startswith("nothing reads RETROSPAN_DRAINED; ")
    found: Any = finding["settings"]
    assert list(found) == list(KEYS)
    assert found["data"] == {"value": str(served.data), "source": "--data"}
    assert found["grpc"] == {"value": "127.0.0.1:0", "source": "--grpc"}
    assert found["drain_seconds"] == {"value": 15.0, "source": "default"}
    served.stop()
    file = tmp_path / "c.toml"
    file.write_text(
        'warehouse = "clickhouse://me:hidden@db:8123"\nmetrics_to = "http://m:1/v1?key=hidden"\n\n'
        '[server]\npassword = "hidden"\n[limits]\nlog_bytes = "3 GiB"\n'
    )
    words = ("--data", str(tmp_path / "none"), "--config", str(file))
    environ = {**closed(tmp_path), "RETROSPAN_DRAIN_SECONDS": "7"}
    found = doctor(1, environ, *words)["settings"]["settings"]
    assert found["warehouse"] == {"value": "clickhouse://db:8123", "source": f"{file} line 1"}
    assert found["metrics_to"] == {"value": "http://m:1/v1", "source": f"{file} line 2"}
    assert found["server.password"] == {"value": "(not shown)", "source": f"{file} line 5"}
    assert found["data"] == {"value": str(tmp_path / "none"), "source": "--data"}
    assert found["drain_seconds"] == {"value": 7.0, "source": "RETROSPAN_DRAIN_SECONDS"}
    text = run("doctor", *words, environ=environ).stdout
    assert re.search(rf"^ +limits.log_bytes +3 GiB +{file} line 7$", text, re.MULTILINE)
    assert re.search(r"^ +limits.request_bytes +64 MiB +default$", text, re.MULTILINE)
    assert re.search(r"^ +tokens +none +default$", text, re.MULTILINE)
    assert "hidden" not in text + json.dumps(found)


@pytest.mark.long
def test_an_exporter_that_speaks_to_the_wrong_port_is_told(served: Served) -> None:
    url = {"RETROSPAN_URL": f"http://{served.sql}"}
    for address, protocol, said in (
        (served.grpc, "http/protobuf", "is the gRPC port, and http/protobuf is spoken"),
        (served.http, "grpc", "is the HTTP port, and gRPC is spoken"),
        (f"127.0.0.1:{unused_port()}", "grpc", "nothing listens on"),
    ):
        sends = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{address}", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
        found = doctor(1, url | sends)
        assert said in found["exporters"]["said"]
    assert found["intake"] == {
        "check": "intake",
        "result": "warning",
        "said": "nothing was ever received",
        "todo": found["intake"]["todo"],
    }


@pytest.mark.long
@pytest.mark.requirement("R13")
def test_a_broken_part_turns_health_red_until_a_rebuild_has_brought_its_rows_back(
    served: Served, recordings: dict[str, Recording]
) -> None:
    served.send(recordings[LOOP].traces, recordings[LOOP].logs)
    served.wait_idle()
    before = served.rows("SELECT count() AS n FROM spans")
    parts = served.rows("SELECT path FROM system.parts WHERE table = 'raw_spans' AND active AND rows > 0")
    assert served.stop() == 0
    for part in parts:  # the engine puts aside what it cannot read when it starts
        for name in ("columns.txt", "checksums.txt"):
            Path(part["path"], name).write_bytes(b"broken")
    offline = doctor(1, closed(served.data))
    assert results(offline)["tables"] == "failed" and "raw_spans" in offline["tables"]["said"]
    served.start()
    environ = {"RETROSPAN_URL": f"http://{served.sql}"}
    health = served.health()
    assert health["status"] == "failing" and health["missing_rows"] > 0 and health["detached_parts"] > 0
    assert "retrospan rebuild" in doctor(1, environ)["tables"]["todo"]
    # New rows do not hide it.
    served.send(recordings["langgraph-openinference/diverge_a"].traces)
    served.until(lambda: served.rows("SELECT run_id FROM runs WHERE agent_name IS NOT NULL OR 1") != [])
    assert served.health()["status"] == "failing"
    assert "rebuilt" in run("rebuild", environ=environ).stdout
    served.until(lambda: served.health()["status"] == "ok")
    assert served.health()["detached_parts"] == 0
    assert served.rows("SELECT count() AS n FROM spans")[0]["n"] > before[0]["n"]
    assert results(doctor(0, environ))["tables"] == "ok"


@pytest.mark.long
def test_a_directory_without_its_collector(served: Served, recordings: dict[str, Recording]) -> None:
    served.send(recordings[LOOP].traces, recordings[LOOP].logs)
    served.wait_idle()
    used = doctor(1, closed(served.data))
    assert used["collector"]["result"] == "failed"
    assert f"in use by pid {served.process.pid}, and was not opened" in used["data"]["said"]
    assert "tables" not in used and "log" not in used
    assert served.stop() == 0
    found = doctor(1, closed(served.data))
    assert results(found) == {
        **dict.fromkeys(
            (
                "settings",
                "ports",
                "disk",
                "private",
                "sync",
                "system",
                "core",
                "engine",
                "data",
                "log",
                "clock",
                "quarantine",
                "migrations",
            ),
            "ok",
        ),
        **dict.fromkeys(("tables", "tokens"), "ok"),
        "collector": "failed",
        "confinement": "ok" if CONFINED else "warning",
    }
    records = len(recordings[LOOP].traces) + len(recordings[LOOP].logs)
    assert f"{records} records" in found["log"]["said"]
    before = {path: path.read_bytes() for path in (served.data / "log").rglob("*") if path.is_file()}
    (segment,) = (served.data / "log").glob("*.seg")
    with segment.open("ab") as log:
        log.write(b"\xff\x07half a record")
    torn = doctor(1, closed(served.data))
    assert torn["log"]["result"] == "warning" and "15 bytes at the end" in torn["log"]["said"]
    assert segment.read_bytes() == before[segment] + b"\xff\x07half a record"
    assert all(path.read_bytes() == content for path, content in before.items() if path != segment)


def test_nothing_yet_is_not_a_failure(tmp_path: Path) -> None:
    found = doctor(1, closed(tmp_path / "none"))
    assert {check for check, result in results(found).items() if result != "ok"} - {"confinement"} == {
        "collector"
    }
    assert not (tmp_path / "none").exists()


@pytest.mark.linux
def test_who_has_a_port_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = doctor(1, {**closed(tmp_path), "RETROSPAN_HTTP": f"127.0.0.1:{port}"})
        assert found["ports"]["said"] == f"127.0.0.1:{port} is in use by pid {os.getpid()} ({_name()})"
        assert "--http 127.0.0.1:0" in found["ports"]["todo"]


def test_bad_settings_and_files_that_others_change_are_told(tmp_path: Path) -> None:
    found = doctor(1, {**closed(tmp_path), "RETROSPAN_LIMITS_LOW_WATER_BYTES": "900000 GB"})
    assert found["disk"]["result"] == "failed" and "limits.low_water_bytes" in found["disk"]["todo"]
    (tmp_path / "c.toml").write_text('gprc = "127.0.0.1:1"\n', encoding="utf-8")
    found = doctor(1, closed(tmp_path), "--config", str(tmp_path / "c.toml"))
    assert found["settings"]["result"] == "failed" and "Did you mean 'grpc'?" in found["settings"]["said"]
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(
        f'[[token]]\nname = "a"\nsha256 = "{"0" * 64}"\nrights = ["read"]\nexpires = 2020-01-01T00:00:00Z\n',
        encoding="utf-8",
    )
    for mode, result, said in (
        (0o666, "failed", "can be written by others: its mode is 0666"),
        (0o660, "failed", "can be written by others: its mode is 0660"),
        (0o644, "warning", "can be read by others (mode 0644)"),
        (0o600, "warning", "expired: a"),
    ):
        tokens.chmod(mode)
        found = doctor(1, {**closed(tmp_path), "RETROSPAN_TOKENS": str(tokens)})
        assert found["tokens"]["result"] == result and said in found["tokens"]["said"]


def _name() -> str:
    return Path("/proc/self/comm").read_text(encoding="utf-8").strip()


@pytest.mark.long
@pytest.mark.parametrize("flags", [(), ("--dry-run",)], ids=["for-real", "dry-run"])
def test_a_running_collector_has_nothing_to_migrate(served: Served, flags: tuple[str, ...]) -> None:
    done = run("migrate", *flags, environ={"RETROSPAN_URL": f"http://{served.sql}"})
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith("0 migrations pending; nothing" if flags else "0 migrations applied, ")


@pytest.mark.long
def test_what_is_pending_is_named_then_done(served: Served) -> None:
    data = str(served.data)
    environ = closed(served.data)
    refused = run("migrate", "--data", data, environ=environ)
    assert refused.returncode == 2 and "is in use by" in refused.stderr
    assert served.stop() == 0
    subprocess.run(
        [sys.executable, "-c", FORGET, f"{data}/warehouse", "ALTER TABLE schema_migrations DELETE WHERE number = 29 SETTINGS mutations_sync = 2"],
        check=True,
        timeout=60,
    )  # fmt: skip
    assert "1 pending" in doctor(1, environ)["migrations"]["said"]
    for _ in range(2):  # a dry run changes nothing
        done = run("migrate", "--data", data, "--dry-run", environ=environ)
        assert done.stdout.splitlines() == [
            "would apply 0029_create_canon_runs_table",
            "1 migration pending; nothing was changed",
        ]
    done = run("migrate", "--data", data, "--json", environ=environ)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert told[0] == {"phase": "migrating", "migration": "0029_create_canon_runs_table"}
    assert told[-1]["migrations"] == 1 and told[-1]["views"] > 10
    assert doctor(1, environ)["migrations"]["said"] == "none pending"
    subprocess.run(
        [sys.executable, "-c", FORGET, f"{data}/warehouse", "INSERT INTO schema_migrations (number, name, state, version) VALUES (9999, '9999_of_tomorrow', 'applied', 2)"],
        check=True,
        timeout=60,
    )  # fmt: skip
    late = run("migrate", "--data", data, environ=environ)
    assert late.returncode == 2 and "9999_of_tomorrow" in late.stderr
    assert doctor(1, environ)["migrations"]["result"] == "failed"


def test_without_a_collector_migrate_says_how(tmp_path: Path) -> None:
    done = run("migrate", environ=closed(tmp_path))
    assert done.returncode == 2 and "retrospan migrate --data DIR" in done.stderr
    done = run("migrate", "--data", str(tmp_path), environ={})
    assert done.returncode == 2 and "has no warehouse" in done.stderr
    assert list(tmp_path.iterdir()) == []
