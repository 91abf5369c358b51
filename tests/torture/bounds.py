"""Bounds that the kernel sets: a control group with a memory limit, and a small disk. Both want root."""

from __future__ import annotations

import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Group:
    """A control group of its own."""

    path: Path
    old: bool
    """Of the first version of control groups."""

    @property
    def prefix(self) -> list[str]:
        """What makes a command start within it."""
        return ["sh", "-c", f'echo $$ > "{self.path}/cgroup.procs" && exec "$@"', "sh"]

    @property
    def kills(self) -> int:
        """Processes that the kernel has killed for their memory."""
        text = (self.path / ("memory.oom_control" if self.old else "memory.events")).read_text()
        return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill "))


@contextmanager
def memory_group(limit_bytes: int) -> Iterator[Group]:
    """A group whose processes may have so much memory together; skips where none can be made."""
    old = (_GROUPS / "memory" / "memory.limit_in_bytes").exists()
    path = (_GROUPS / "memory" if old else _GROUPS) / f"retrospan-test-{uuid.uuid4().hex[:8]}"
    try:
        path.mkdir()
        (path / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(limit_bytes))
    except OSError as cause:
        if path.exists():
            path.rmdir()
        pytest.skip(f"no control group with a memory limit can be made here: {cause}")
    try:
        yield Group(path, old)
    finally:
        deadline = time.monotonic() + 300
        # A process that was killed leaves its group a moment later.
        while (path / "cgroup.procs").read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        path.rmdir()


@contextmanager
def small_disk(place: Path, options: str) -> Iterator[None]:
    """A disk in memory at this place, with the options of tmpfs; skips where nothing can be mounted."""
    place.mkdir(parents=True)
    done = mount("-t", "tmpfs", "-o", options, "retrospan-test", str(place))
    if done.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def mount(*words: str) -> subprocess.CompletedProcess[str]:
    """The system's own mount."""
    return subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
