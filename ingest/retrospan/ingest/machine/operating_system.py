"""What differs between the systems that a collector runs on: syncs, nameless files, the page cache, other processes.

Linux and macOS, both on x86-64 and arm64. What a system does not know is looked for when it is needed, and its place is
taken by what does the same more slowly, or by nothing where only speed or a name in a message hangs on it.
docs/operations.md says what a collector on macOS lacks.
"""

from __future__ import annotations

import ctypes
import os
import platform
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from retrospan.schemas.errors import ConfigError

#: What works on a system without collectors, and what to do.
ELSEWHERE = (
    "run it in a container or on another machine: agents record from here, and commands query from here"
)
#: Linux: prctl's numbers.
_SET_PDEATHSIG, _SET_DUMPABLE = 1, 4
#: How often a process looks whether its parent is still there, where the kernel does not tell.
_LOOKING_SECONDS = 0.5
#: What a pipe may hold: on Linux no more without a privilege.
_PIPE_BYTES = 1 << 20
#: Linux: what this process has mapped; and madvise's number for pages that are not needed soon.
_MAPPINGS, _DONTNEED = Path("/proc/self/maps"), 4
_LINUX_DESCRIPTORS, _DESCRIPTORS = Path("/proc/self/fd"), Path("/dev/fd")


def has_collectors() -> bool:
    """Return whether a collector can run here."""
    return sys.platform in ("linux", "darwin")


def named() -> str:
    """Return the system and the processor, such as `Linux on x86_64`."""
    system = {"darwin": "macOS", "win32": "Windows", "linux": "Linux"}.get(sys.platform, sys.platform)
    return f"{system} on {platform.machine()}"


def require_collectors() -> None:
    """Raise ConfigError where a collector cannot run."""
    if not has_collectors():
        raise ConfigError(
            f"a collector runs on Linux and macOS, and this is {named()}. {ELSEWHERE.capitalize()}."
        )


def sync(descriptor: int) -> None:
    """Return once a file's bytes and length are on disk: on macOS in the drive's own memory too, or not at all.

    Raises OSError; never repeated after that.
    """
    to_the_platter = getattr(_module("fcntl"), "F_FULLFSYNC", None)
    if to_the_platter is not None:
        _module("fcntl").fcntl(descriptor, to_the_platter)
    else:
        getattr(os, "fdatasync", os.fsync)(descriptor)


def sync_names(descriptor: int) -> None:
    """Return once the names in a directory are on disk. Raises OSError."""
    os.fsync(descriptor)


def make_nameless_file(purpose: str) -> int:
    """Return a descriptor of an empty file without a name, in memory where the system has such files."""
    make: Callable[[str, int], int] | None = getattr(os, "memfd_create", None)
    if make is not None:
        return make(purpose, os.MFD_CLOEXEC)
    with tempfile.TemporaryFile(prefix=f"{purpose}-", buffering=0) as file:
        return os.dup(file.fileno())


def path_of(descriptor: int) -> str:
    """Return a path under which this process can open what it has open. From the beginning of a file only after a seek."""
    return str((_LINUX_DESCRIPTORS if _LINUX_DESCRIPTORS.exists() else _DESCRIPTORS) / str(descriptor))


def descriptors() -> list[int]:
    """Return the numbers of what this process has open, and that of the list itself."""
    place = _LINUX_DESCRIPTORS if _LINUX_DESCRIPTORS.exists() else _DESCRIPTORS
    return [int(name) for name in os.listdir(place) if name.isdigit()]


def descriptor_limit() -> int | None:
    """Return how many descriptors this process may have at once; None when there is no limit."""
    limits = _module("resource")
    soft = limits.getrlimit(limits.RLIMIT_NOFILE)[0]
    return None if soft == limits.RLIM_INFINITY else int(soft)


def raise_descriptor_limit() -> None:
    """Let this process, and those that it starts, have as many descriptors as the system allows it."""
    limits = _module("resource")
    hard = limits.getrlimit(limits.RLIMIT_NOFILE)[1]
    with suppress(OSError, ValueError):  # macOS names no limit and has one
        limits.setrlimit(limits.RLIMIT_NOFILE, (hard, hard))


def forget_cached(descriptor: int) -> None:
    """Have what is read of a file come from the disk, not from memory, where the system takes such a wish."""
    advise: Callable[[int, int, int, int], None] | None = getattr(os, "posix_fadvise", None)
    uncached = getattr(_module("fcntl"), "F_NOCACHE", None)
    if advise is not None:
        advise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    elif uncached is not None:
        _module("fcntl").fcntl(descriptor, uncached, 1)


def widen_pipe(descriptor: int) -> None:
    """Let a pipe hold as much as the system lets anybody's hold: what goes through in megabytes wakes its reader less."""
    how_much = getattr(_module("fcntl"), "F_SETPIPE_SZ", None)
    if how_much is not None:
        with suppress(OSError):  # a smaller pipe will do: users may have so many pages of pipes
            _module("fcntl").fcntl(descriptor, how_much, _PIPE_BYTES)


def is_alive(pid: int) -> bool:
    """Return whether there is such a process, whoever it belongs to."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def wait_ended(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Return the exit code of a child of this process once it has ended; None when it lives on after `seconds`.

    Asleep all the while, where the kernel tells of a process's end; `Popen.wait` wakes twenty times a second or more.
    """
    open_process: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
    if open_process is not None and process.poll() is None:
        with suppress(OSError):  # a sandbox may not know the call
            descriptor = open_process(process.pid)
            try:
                end = select.poll()
                end.register(descriptor, select.POLLIN)
                end.poll(seconds * 1000)
            finally:
                os.close(descriptor)
            return process.poll()
    with suppress(subprocess.TimeoutExpired):
        return process.wait(seconds)
    return None


def forget_code(library: str) -> int:
    """Give back the pages of a library's code and constants; return in bytes how much memory of code there may be.

    `library` is how its file's name begins. The kernel has these pages in the file too, and maps those that are needed
    again, in microseconds from its cache; it takes them from nobody by itself before memory is short. 0 where that cannot
    be done.
    """
    try:
        mappings = _MAPPINGS.read_text(encoding="utf-8", errors="replace").splitlines()
        advise = ctypes.CDLL(None, use_errno=True).madvise
    except (OSError, AttributeError):
        return 0
    advise.argtypes = (ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int)
    size = 0
    for mapping in mappings:
        addresses, access, offset, _, _, *path = mapping.split(maxsplit=5)
        # Nothing else: behind the code are addresses that the loader has put in, which no file has.
        is_constant = access == "r-xp" or (access == "r--p" and int(offset, 16) == 0)
        if is_constant and path and Path(path[0]).name.startswith(library):
            start, end = (int(address, 16) for address in addresses.split("-"))
            if advise(start, end - start, _DONTNEED) == 0:
                size += end - start
    return size


def resident_bytes(pid: int | None = None) -> int:
    """Return how many bytes of memory a process holds, this one by default; 0 when it is gone."""
    with suppress(OSError, IndexError, ValueError):
        text = Path(f"/proc/{pid or 'self'}/statm").read_text(encoding="ascii")
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "linux" and Path("/proc").exists():
        return 0
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        words = ["ps", "-o", "rss=", "-p", str(pid or os.getpid())]
        return int(subprocess.run(words, capture_output=True, check=True, timeout=10).stdout) * 1024
    return 0


def end_with(parent: int, code: int) -> None:
    """End this process when `parent`, which started it, ends; at once with `code` where it has ended already."""
    if (control := _control()) is not None:
        control(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    else:
        threading.Thread(target=_watch, args=(parent, code), name="retrospan-parent", daemon=True).start()
    if os.getppid() != parent:
        os._exit(code)


def forbid_looking_in() -> None:
    """Let no other process read the memory or the variables of this one, where the system knows such a rule."""
    if (control := _control()) is not None:
        # Refused by no kernel. A sandbox that has its own way of saying what may be traced is left to it.
        control(_SET_DUMPABLE, 0, 0, 0, 0)


def _watch(parent: int, code: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOKING_SECONDS)
    os._exit(code)


def _control() -> Any:
    """Return Linux's prctl; None without it."""
    return getattr(ctypes.CDLL(None, use_errno=True), "prctl", None) if os.name == "posix" else None


def _module(name: str) -> Any:
    """Return a module that not every system has; None without it."""
    try:
        return import_module(name)
    except ImportError:
        return None
