"""What takes the place of what only Linux has does the same; and none of it is asked for where it is not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest

from retrospan.ingest.machine import operating_system
from retrospan.schemas.errors import ConfigError

ELSEWHERE = Path(__file__).with_name("elsewhere")


@pytest.fixture(params=[True, False], ids=["as here", "without Linux"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        for name in ("fdatasync", "memfd_create", "posix_fadvise"):
            monkeypatch.delattr(os, name, raising=False)
        monkeypatch.setattr(operating_system, "_LINUX_DESCRIPTORS", Path("/nowhere"))


@pytest.mark.usefixtures("system")
def test_a_nameless_file_can_be_opened_by_the_path_of_its_descriptor() -> None:
    descriptor = operating_system.make_nameless_file("retrospan-test")
    try:
        os.write(descriptor, b"written")
        os.lseek(descriptor, 0, os.SEEK_SET)
        assert Path(operating_system.path_of(descriptor)).read_bytes() == b"written"
        assert os.fstat(descriptor).st_nlink == 0
        assert descriptor in operating_system.descriptors()
        assert not os.get_inheritable(descriptor)
    finally:
        os.close(descriptor)


@pytest.mark.usefixtures("system")
def test_a_file_is_synced_and_read_again_from_the_disk(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb+", buffering=0) as file:
        file.write(b"x" * 4096)
        operating_system.sync(file.fileno())
        operating_system.forget_cached(file.fileno())
        file.seek(0)
        assert file.read() == b"x" * 4096
    folder = os.open(tmp_path, os.O_RDONLY)
    operating_system.sync_names(folder)
    os.close(folder)


def test_where_the_drive_must_be_told_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Darwin:
        F_FULLFSYNC = 51
        asked: ClassVar[list[tuple[int, int]]] = []

        @classmethod
        def fcntl(cls, descriptor: int, command: int) -> None:
            cls.asked.append((descriptor, command))

    monkeypatch.setitem(sys.modules, "fcntl", Darwin)
    operating_system.sync(7)
    assert Darwin.asked == [(7, 51)]


def test_a_process_is_alive_until_it_was_waited_for() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "print('ready', flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        assert operating_system.is_alive(child.pid)
        assert operating_system.resident_bytes(child.pid) > 1 << 20
    assert not operating_system.is_alive(child.pid)
    assert operating_system.resident_bytes(child.pid) == 0
    assert operating_system.is_alive(1)


def test_a_process_ends_with_its_parent_also_where_the_kernel_does_not_see_to_it() -> None:
    child = (
        "import os, time\nfrom retrospan.ingest.machine import operating_system\n"
        "operating_system._control = lambda: None\n"
        "operating_system.end_with(os.getppid(), 3)\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n"
    )
    parent = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])\n"
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        pid = int(started.stdout.readline())
        started.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while operating_system.is_alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_our_own_code_finds_no_proc_where_it_is_hidden_and_others_do() -> None:
    program = (
        f"import sys\nsys.path.insert(0, {str(ELSEWHERE)!r})\nimport without_linux, os\nfrom pathlib import Path\n"
        "from retrospan.ingest.machine import memory, operating_system\nfrom retrospan.ingest.machine.confinement import landlock_abi\n"
        "print(operating_system.path_of(1), operating_system.resident_bytes() > 1 << 20, memory.memory_limit(), "
        "landlock_abi(), hasattr(os, 'memfd_create'), Path('/proc/self').exists() == os.path.exists('/proc'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["/dev/fd/1", "True", "None", "0", "False", "True"]


@pytest.mark.parametrize(("platform", "runs"), [("linux", True), ("darwin", True), ("win32", False)])
def test_where_a_collector_cannot_run_it_says_what_to_do(
    platform: str, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert operating_system.has_collectors() == runs
    if runs:
        operating_system.require_collectors()
    else:
        with pytest.raises(ConfigError, match="runs on Linux and macOS, and this is Windows"):
            operating_system.require_collectors()


@pytest.mark.parametrize("kernel_tells", [True, False])
def test_the_end_of_a_child_is_told_with_its_code(
    kernel_tells: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kernel_tells:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    program = "input(); raise SystemExit(7)"
    before = len(operating_system.descriptors())
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert operating_system.wait_ended(child, 0.01) is None
        child.stdin.write(b"\n")
        child.stdin.close()
        assert operating_system.wait_ended(child, 60) == 7
        assert operating_system.wait_ended(child, 60) == 7
    assert len(operating_system.descriptors()) == before


def test_a_sandbox_that_does_not_know_the_call_has_its_child_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", refuse, raising=False)
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"]) as child:
        assert operating_system.wait_ended(child, 60) == 7
