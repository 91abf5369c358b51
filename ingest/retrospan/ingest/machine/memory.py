"""How much memory this process may use, according to its control group, and how much of it the engine gets.

A process that outgrows its group is killed by the kernel, in the middle of whatever it does. The engine keeps to a
limit of its own and gives an error instead, so that limit has to be the smaller one.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from pathlib import Path

from retrospan.schemas.errors import ConfigError

MIB = 1 << 20
#: With less the engine has no room to load a full batch: 640 MiB of its own are too little, 1 GiB are enough.
LEAST_BYTES = 1536 * MIB
#: What requests on their way in and the interpreter's process need beside the engine.
BESIDE_ENGINE_BYTES = 512 * MIB
#: With less there is one process that reads runs, beside the one for long runs.
ROOMY_BYTES = 4096 * MIB
#: The name of a setting in glibc's malloc.h.
_M_ARENA_MAX = -8
_PROCESS, _GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def memory_limit(process: Path = _PROCESS, groups: Path = _GROUPS) -> int | None:
    """Return the tightest limit in bytes of this process's control group and those above it; None without one."""
    limits = [limit for file in _files(process, groups) if (limit := _number(file)) is not None]
    return min(limits, default=None)


def engine_bytes(wanted: int, limit: int | None) -> int:
    """Return what the engine may have of the `wanted` bytes where the process may have `limit`.

    Raises ConfigError when that is too little to work at all.
    """
    if limit is None:
        return wanted
    if limit < LEAST_BYTES:
        raise ConfigError(
            f"the control group of this process (the container's limit) allows {limit // MIB} MiB of memory, and the "
            f"embedded ClickHouse needs {LEAST_BYTES // MIB} MiB: raise that limit"
        )
    return min(wanted, limit - BESIDE_ENGINE_BYTES)


def keep_arenas_few() -> None:
    """Let the threads of this process share two heaps of the C library, where it has more.

    Each heap keeps what was freed in it: with one for each thread, a few large requests would stay in memory a dozen
    times over. Threads that begin before this keep the heap they have.
    """
    try:
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)
    except (AttributeError, OSError):
        # Another C library, which has no such heaps.
        return


def give_back() -> None:
    """Have Python and the C library give back what they keep for later."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        return  # another C library


def run_bytes(wanted: int, limit: int | None) -> int:
    """Return what a process that reads runs may have of the `wanted` bytes where all together may have `limit`."""
    return wanted if limit is None else min(wanted, max(256 * MIB, limit // 4))


def processes_within(wanted: int, limit: int | None) -> int:
    """Return how many of the `wanted` processes read runs where all together may have `limit`: one where that is
    little.
    """
    return wanted if limit is None or limit >= ROOMY_BYTES else 1


def _files(process: Path, groups: Path) -> Iterator[Path]:
    """Yield the files with limits, of either version of control groups, from this process's group upwards."""
    try:
        lines = process.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, name = groups, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = groups / "memory", "memory.limit_in_bytes"
        else:
            continue
        place = root / path.lstrip("/")
        yield from (folder / name for folder in (place, *place.parents) if folder.is_relative_to(root))


def _number(file: Path) -> int | None:
    """Return a limit; None where there is no such file or it says that there is none."""
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() and int(text) < 1 << 60 else None
