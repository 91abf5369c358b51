"""The engine's process without any guard before it: what the kernel keeps from it, and what it can do as before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from retrospan.ingest.doctor.machine import check_confinement
from retrospan.ingest.doctor.running import check_running
from retrospan.ingest.machine.confinement import Confinement, landlock_abi

SCRIPT = Path(__file__).parent / "confined_engine.py"
needs_landlock = pytest.mark.skipif(not landlock_abi(), reason="the kernel has no Landlock")


def answers(directory: Path, statements: list[str], *words: str) -> dict[str, str]:
    """What the engine of a process of its own answers; by '' how it is confined."""
    directory.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-P", str(SCRIPT), *words, str(directory)],
        input=json.dumps(statements),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd="/",
        env={"TMPDIR": str(directory), "HOME": "/nonexistent"},
    )
    found: list[str] = json.loads(done.stdout)
    return dict(zip(["", *statements] if "--free" not in words else statements, found, strict=False))


def reaching(place: Path) -> list[str]:
    """Statements that read, write or connect beyond the directory."""
    secret, stolen = place / "secret.txt", place / "stolen.txt"
    return [
        f"SELECT file('{secret}')",
        f"SELECT * FROM file('{secret}', 'LineAsString')",
        f"SELECT * FROM url('file://{secret}', 'LineAsString')",
        "SELECT * FROM file('/etc/passwd', 'LineAsString')",
        "SELECT * FROM file('/proc/self/environ', 'LineAsString')",
        f"SELECT * FROM file('/proc/{os.getpid()}/cmdline', 'LineAsString')",
        "SELECT * FROM file('/proc/1/cmdline', 'LineAsString')",
        "SELECT * FROM file('/proc/thread-self/cwd/etc/passwd', 'LineAsString')",
        "SELECT * FROM file('/proc/thread-self/root/etc/passwd', 'LineAsString')",
        "SELECT * FROM file('/etc/resolv.conf', 'LineAsString')",
        f"SELECT 1 INTO OUTFILE '{stolen}' FORMAT CSV",
        f"SELECT 1 INTO OUTFILE '{secret}' APPEND FORMAT CSV",
        f"SELECT 1 INTO OUTFILE '{secret}' TRUNCATE FORMAT CSV",
        f"INSERT INTO FUNCTION file('{stolen}', 'CSV', 'a Int8') VALUES (1)",
    ]


@needs_landlock
def test_no_statement_reaches_beyond_the_directory(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("0123456789abcdef\n")
    wanted = reaching(tmp_path)
    free = answers(tmp_path / "free", wanted[:2], "--free")
    assert all("0123456789abcdef" in answer for answer in free.values()), "the attack itself must work"
    found = answers(tmp_path / "kept", wanted)
    assert (
        found[""] == f"confined by Landlock ABI {landlock_abi()}: files and connections" or landlock_abi() < 4
    )
    for statement in wanted:
        assert found[statement].startswith("error"), statement
    assert (tmp_path / "secret.txt").read_text() == "0123456789abcdef\n"
    assert not (tmp_path / "stolen.txt").exists()


@needs_landlock
def test_the_engine_finds_what_it_looks_for_at_each_statement(tmp_path: Path) -> None:
    # What it is refused it throws, in each of its threads, and catches: more than a tenth of what a short question takes.
    # What it may look for lies beside its memory, of which it gets nothing: such a file has no length.
    memory = "SELECT length(file('/proc/thread-self/mem'))"
    refused = "SELECT sum(value) FROM system.errors WHERE name IN ('CANNOT_OPEN_FILE', 'FILE_DOESNT_EXIST')"
    before, busy = f"{refused} AND 1", "SELECT sum(number) FROM numbers_mt(3000000)"
    found = answers(tmp_path / "kept", [before, busy, refused, memory])
    assert found[refused] == found[before] and found[before].startswith("ok ")
    assert found[memory] == "ok 0\n"


@pytest.mark.skipif(landlock_abi() < 4, reason="the kernel's Landlock knows no connections")
def test_no_statement_connects(tmp_path: Path) -> None:
    for statement in (
        "SELECT * FROM url('http://127.0.0.1:9/x', 'LineAsString', 's String') SETTINGS http_max_tries = 1",
        "SELECT * FROM remote('127.0.0.1:9', system.one)",
    ):
        assert "Permission denied" in answers(tmp_path / "kept", [statement])[statement]


@needs_landlock
def test_the_engine_does_its_work_confined(tmp_path: Path) -> None:
    statements = [
        "CREATE TABLE retrospan.t (a UInt32, s String) ENGINE = MergeTree ORDER BY a",
        "INSERT INTO retrospan.t SELECT number, toString(number) FROM numbers(300000)",
        "OPTIMIZE TABLE retrospan.t FINAL",
        "ALTER TABLE retrospan.t DELETE WHERE a = 1 SETTINGS mutations_sync = 2",
        "SELECT count() FROM retrospan.t",
        "SELECT s FROM retrospan.t ORDER BY s LIMIT 1 SETTINGS max_bytes_before_external_sort = 1000000",
        "SELECT toString(toTimeZone(toDateTime(0, 'UTC'), 'Europe/Berlin'))",
        "DROP TABLE retrospan.t SYNC",
    ]
    found = answers(tmp_path / "kept", statements)
    assert [found[statement][:2] for statement in statements] == ["ok"] * len(statements), found
    assert found[statements[4]] == "ok 299999\n" and found[statements[6]] == "ok 1970-01-01 01:00:00\n"


CHILD = """
import os, subprocess, sys
from pathlib import Path
from retrospan.ingest.machine.confinement import SYSTEM_PLACES, confine, python_places, python_programs
confine(readable=[*python_places(), *SYSTEM_PLACES], writable=[], executable=python_programs())
run = lambda code: subprocess.run([sys.executable, "-P", "-c", code]).returncode
print(run("import retrospan.ingest.interpret.service.worker"), run("open('/etc/passwd')"))
try:
    subprocess.run(["/bin/sh", "-c", "true"])
    print("started")
except PermissionError:
    print("refused")
try:
    os.kill(int(sys.argv[1]), 0)
    print("signalled")
except PermissionError:
    print("refused")
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
child.terminate()
print(child.wait())
"""


@needs_landlock
def test_children_are_confined_too(tmp_path: Path) -> None:
    """The interpreter's child starts and reads nothing more; no shell starts; nobody outside is signalled."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", CHILD, str(os.getpid())],
        capture_output=True, text=True, timeout=60, check=True, cwd="/", env={},
    )  # fmt: skip
    outside = "refused" if landlock_abi() >= 6 else "signalled"
    assert done.stdout.split() == ["0", "1", "refused", outside, "-15"], done.stderr


def test_doctor_says_what_holds() -> None:
    finding = check_confinement()
    assert finding.check == "confinement"
    assert (finding.result == "ok") is (landlock_abi() >= 4)
    if landlock_abi():
        assert f"ABI {landlock_abi()}" in finding.said


@pytest.mark.parametrize(
    ("abi", "network", "result"), [(7, True, "ok"), (3, False, "warning"), (0, False, "warning")]
)
def test_doctor_says_what_a_running_engine_says_of_itself(abi: int, network: bool, result: str) -> None:
    page = {
        "log_bytes": 0,
        "confinement": str(Confinement(abi, network)),
        "engine_failure": "x",
        "data": "/d",
    }
    page |= {"log_failure": "", "load_failure": "", "table_complaint": ""}
    (finding,) = [each for each in check_running(page, "http://x") if each.check == "confinement"]
    assert (finding.result, str(Confinement(abi, network)) in finding.said) == (result, True)


def test_what_is_not_held_is_reported() -> None:
    assert str(Confinement(0)) == "not confined: the kernel has no Landlock"
    assert str(Confinement(3)) == "confined by Landlock ABI 3: files only"
