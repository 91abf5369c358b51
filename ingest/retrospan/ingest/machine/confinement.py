"""What the engine's process may reach, whatever it executes: enforced by the kernel (Landlock), not by us.

A statement that got past the guard, or a bug in the engine itself, then cannot open files outside the places given
here, connect anywhere, or signal outside processes. Without Landlock in the kernel nothing is enforced, and
`Confinement` says so. It cannot be undone; child processes inherit it.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The numbers are the same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_CREATE_VERSION, _RULE_PATH_BENEATH, _NO_NEW_PRIVS = 1, 1, 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_FILE, _MAKE_LINK = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 12
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_READ = _READ_FILE | _READ_DIR
_WRITE = (
    _READ
    | _WRITE_FILE
    | _REMOVE_DIR
    | _REMOVE_FILE
    | _MAKE_DIR
    | _MAKE_FILE
    | _MAKE_LINK
    | _REFER
    | _TRUNCATE
)
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
#: What the first version of Landlock knows, and what later ones added: moving between directories (2), truncating (3),
#: commands to devices (5).
_RIGHTS = ((1, (1 << 13) - 1), (2, _REFER), (3, _TRUNCATE), (5, 1 << 15))
#: Binding and connecting (4).
_TCP = 0b11
#: Abstract sockets and signals of processes that are not confined with this one (6).
_OUTSIDE = 0b11

#: The system's own, as the engine, Python and the C library open them; none is anybody's data. `task`
#: has this process's environment (where Python is, language and time zone) and the machine's mounts and connections.
#: `/etc/resolv.conf` is left out on purpose: without it no name is looked up, so none carries anything outside.
SYSTEM_PLACES = tuple(
    Path(place)
    for place in (
        *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo"),
        *("/etc/ld.so.cache", "/etc/localtime", "/usr/share/locale"),
        *("/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup"),
        *("/sys/kernel/mm/transparent_hugepage", "/proc/sys/vm/overcommit_memory", "/dev/urandom"),
        *("/proc/self/cgroup", "/proc/self/statm", "/proc/self/auxv", "/proc/self/fd", "/proc/self/maps"),
        # Each of the engine's threads looks at its own `schedstat` here, for each statement, and throws where it may not.
        "/proc/self/task",
    )
)
#: May be written as well.
DEVICES = (Path("/dev/null"),)


@dataclass(frozen=True, slots=True)
class Confinement:
    """What the kernel holds this process to. `abi` is the version of its Landlock, 0 when it has none."""

    abi: int
    network: bool = False
    """Whether no connection can be made and no port be opened."""

    def __str__(self) -> str:
        if not self.abi:
            return "not confined: the kernel has no Landlock"
        kept = "files and connections" if self.network else "files only"
        return f"confined by Landlock ABI {self.abi}: {kept}"


_held: list[Confinement] = []


def held() -> str:
    """Describe how this process is confined; '' if it is not."""
    return str(_held[-1]) if _held else ""


def landlock_abi() -> int:
    """Return the version of the kernel's Landlock; 0 when it has none, or it is switched off."""
    # The engine needs places in /proc, which cannot be let through where it is not there.
    if sys.platform != "linux" or not Path("/proc/self").exists():
        return 0
    return max(0, _syscall(_CREATE_RULESET, None, 0, _CREATE_VERSION))


def confine(
    *,
    readable: Iterable[Path],
    writable: Iterable[Path],
    executable: Iterable[Path] = (),
    listed: Iterable[Path] = (),
    network: bool = False,
) -> Confinement:
    """Confine this thread and every thread and process it starts from now on. Call it before any is started.

    Args:
        readable: files, and directories with all that is below them. Missing ones are left out. The rule applies to the
        file, not its name: another file moved into its place cannot be read. writable: directories in which files are
        made, changed and removed; they can be read. executable: programs that may be started, the loader of dynamic
        programs among them. listed: directories whose names may be read, and which can be made durable. network:
        whether connections may be made. Sockets that are open or bound already can be used either way.
    Raises:
        OSError: the kernel has Landlock and refused; nothing is confined then.
    """
    abi = landlock_abi()
    if not abi:
        _held.append(Confinement(0))
        return _held[-1]
    handled = sum(rights for since, rights in _RIGHTS if abi >= since)
    closed = _TCP if abi >= 4 and not network else 0
    attributes = struct.pack("QQQ", handled, closed, _OUTSIDE if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = _checked(_CREATE_RULESET, ctypes.c_char_p(attributes), size, 0)
    try:
        for places, rights in (
            (readable, _READ),
            (executable, _READ | _EXECUTE),
            (writable, _WRITE),
            (listed, _READ_DIR),
        ):
            for place in places:
                _allow(ruleset, place, rights & handled)
        if _libc().prctl(_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "no_new_privs was refused")
        _checked(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    _held.append(Confinement(abi, bool(closed)))
    return _held[-1]


def python_places() -> list[Path]:
    """Return where this Python and its packages lie, to be read: not the directory it was started in."""
    paths = sysconfig.get_paths()
    found = [Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    found += [Path(entry) for entry in sys.path if entry and Path(entry) != Path.cwd()]
    found += [Path(sys.prefix) / "pyvenv.cfg", Path(sys.base_prefix) / "lib", Path(sys.executable)]
    return [place for place in found if place != Path("/")]


def python_programs() -> list[Path]:
    """Return what starting another Python executes: the program, and the loader it names."""
    program = Path(os.path.realpath(sys.executable))
    loader = _loader(program)
    return [program] if loader is None else [program, loader]


def _allow(ruleset: int, place: Path, rights: int) -> None:
    try:
        descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there, or not ours to look at, needs no rule
    is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
    rule = struct.pack("=Qi", rights if is_directory else rights & _OF_A_FILE, descriptor)
    try:
        _checked(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.c_char_p(rule), 0)
    finally:
        # A process's own part of /proc is made anew when the kernel needs memory, unless it is held open.
        if not str(place).startswith("/proc/self/"):
            os.close(descriptor)


def _loader(program: Path) -> Path | None:
    """Return the dynamic loader that an ELF program of 64 bits names."""
    with program.open("rb") as file:
        head = file.read(64)
        if head[:5] != b"\x7fELF\x02":
            return None
        offset, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        for number in range(count):
            file.seek(offset + number * size)
            entry = file.read(size)
            if struct.unpack_from("<I", entry)[0] == 3:  # PT_INTERP
                begin, length = struct.unpack_from("<Q", entry, 8)[0], struct.unpack_from("<Q", entry, 32)[0]
                file.seek(begin)
                return Path(os.path.realpath(os.fsdecode(file.read(length).rstrip(b"\0"))))
    return None


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _syscall(number: int, *arguments: Any) -> int:
    whole = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    function = _libc().syscall
    function.restype = ctypes.c_long
    return int(function(ctypes.c_long(number), *whole))


def _checked(number: int, *arguments: Any) -> int:
    found = _syscall(number, *arguments)
    if found < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"Landlock refused ({number}): {os.strerror(error)}")
    return found
