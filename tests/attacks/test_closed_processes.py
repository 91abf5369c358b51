"""What a collector holds in memory is nobody else's: no core dump, no look from another process of the same user.

Root may look because of its capabilities. So collector and onlooker run without any, of one user, as two processes of
an ordinary user do.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from fix_collector import Served
from fix_recordings import Recording

STRANGER = 4242
RECORDING = "langgraph-openinference/loop"
# PR_CAPBSET_DROP: what is not in the bounding set, nobody has after the next exec.
_DROP = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
for capability in range(64):
    libc.prctl(24, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
POWERLESS = (sys.executable, "-c", _DROP)
LOOK = """
import ctypes, sys
pid = int(sys.argv[1])
for name in ("environ", "mem", "maps", "auxv", "stack", "io"):
    try:
        open(f"/proc/{pid}/{name}", "rb").read(1)
        print(name)
    except OSError:
        pass
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, pid, 0, 0) == 0:  # PTRACE_ATTACH
    print("ptrace")
"""


class Powerless(Served):
    """A collector without capabilities, whose parent allows core dumps."""

    prefix = ("sh", "-c", 'ulimit -c unlimited; umask 000; exec "$@"', "sh", *POWERLESS)


@pytest.fixture
def collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Powerless]:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    served = Powerless(tmp_path / "data", tmp_path / "stderr.txt")
    yield served
    served.kill()


def processes(pid: int) -> list[int]:
    """A process and those below it."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
                found += map(int, (task / "children").read_text().split())
    return found


def seen(pid: int) -> list[str]:
    """What another process of the user sees of one."""
    done = subprocess.run(
        [*POWERLESS, sys.executable, "-c", LOOK, str(pid)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.long
def test_no_process_of_the_same_user_sees_into_a_collector(
    collector: Powerless, recordings: dict[str, Recording]
) -> None:
    collector.send(recordings[RECORDING].traces)
    collector.wait_idle()
    assert collector.rows("SELECT count() AS n FROM spans")[0]["n"] > 0, "the engine works as it is"
    found = processes(collector.process.pid)
    assert len(found) >= 2, "the interpreter's child is one of them"
    for pid in found:
        assert seen(pid) == [], Path(f"/proc/{pid}/cmdline").read_text()
        limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
        assert next(line for line in limits if "core file" in line).split()[4:6] == ["0", "0"]


def test_what_is_looked_for_can_be_seen_of_a_process_that_is_not_closed() -> None:
    with subprocess.Popen(
        [*POWERLESS, sys.executable, "-c", "print(1, flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == b"1\n"
        assert {"environ", "maps"} <= set(seen(other.pid))
        other.kill()


def test_a_crash_leaves_no_core(collector: Powerless, tmp_path: Path) -> None:
    # A signal whose action is a core dump, and which neither Python nor the engine handles.
    for pid in reversed(processes(collector.process.pid)):
        os.kill(pid, signal.SIGXCPU)
    assert collector.process.wait(60) == -signal.SIGXCPU
    assert [path for path in tmp_path.rglob("core*") if path.is_file()] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_gets_nowhere_below_the_directory(tmp_path: Path) -> None:
    """Not even one of the same group, who may pass to it."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        served = Served(Path(place, "data"), tmp_path / "stderr.txt")
        try:
            done = subprocess.run(
                ["find", str(served.data), "-mindepth", "1"],
                user=STRANGER,
                group=os.getegid(),
                extra_groups=[],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        finally:
            served.kill()
    assert done.stdout == "" and "Permission denied" in done.stderr
