"""What a collector holds in memory is nobody else's: no core dump, no look from another process of the same user.

Root may look, so each look is tried as another user, whose collector it is.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_collector import Served
from fix_recordings import Recording

USER = 4242
RECORDING = "langgraph-openinference/loop"
_AS_USER = (
    "import os, sys; os.setgroups([]); os.setgid(%d); os.setuid(%d); os.execv(sys.argv[1], sys.argv[1:])"
    % (USER, USER)
)
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

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


def reachable(tmp_path: Path) -> None:
    """Let another user pass to the test's directory."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o011)


class OfAnother(Served):
    """A collector that runs as an ordinary user, with core dumps allowed."""

    prefix = ("sh", "-c", 'ulimit -c unlimited; umask 000; exec "$@"', "sh", sys.executable, "-c", _AS_USER)


@pytest.fixture
def collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OfAnother]:
    reachable(tmp_path)
    place = tmp_path / "of-another"
    place.mkdir()
    os.chown(place, USER, USER)
    monkeypatch.chdir(place)
    monkeypatch.setenv("HOME", str(place))
    # By its path: the search path of the tests may lead through what only root can read.
    served = OfAnother(place / "data", tmp_path / "stderr.txt")
    yield served
    served.kill()


def processes(pid: int) -> list[int]:
    """A process and those below it."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def seen(pid: int, user: int) -> list[str]:
    """What a process of a user sees of another one."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(pid)],
        user=user, group=user, extra_groups=[], capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout.split()


def test_no_process_of_the_same_user_sees_into_a_collector(
    collector: OfAnother, recordings: dict[str, Recording]
) -> None:
    collector.send(recordings[RECORDING].traces)
    collector.wait_idle()
    assert len(collector.rows("SELECT count() FROM spans")) == 1, "the engine works as it is"
    found = processes(collector.process.pid)
    assert len(found) >= 2, "the interpreter's child is one of them"
    for pid in found:
        assert seen(pid, USER) == [], Path(f"/proc/{pid}/cmdline").read_text()
        limit = next(
            line for line in Path(f"/proc/{pid}/limits").read_text().splitlines() if "core file" in line
        )
        assert limit.split()[4:6] == ["0", "0"]
    # What is looked for can be seen of a process that does not close itself.
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, user=USER, group=USER, extra_groups=[]
    ) as other:
        while "input" not in Path(f"/proc/{other.pid}/cmdline").read_text():
            pass
        assert {"environ", "mem", "ptrace"} <= set(seen(other.pid, USER))
        other.kill()


def test_a_crash_leaves_no_core(collector: OfAnother, tmp_path: Path) -> None:
    for pid in reversed(processes(collector.process.pid)):
        os.kill(pid, signal.SIGSEGV)
    collector.process.wait(60)
    assert [path for path in (tmp_path / "of-another").rglob("core*") if path.is_file()] == []


def test_another_user_gets_nowhere_below_the_directory(
    collector: OfAnother, recordings: dict[str, Recording]
) -> None:
    collector.send(recordings[RECORDING].traces)
    collector.wait_idle()
    done = subprocess.run(
        ["find", str(collector.data), "-mindepth", "1"],
        user=USER + 1, group=USER, extra_groups=[USER], capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout == "" and "Permission denied" in done.stderr
