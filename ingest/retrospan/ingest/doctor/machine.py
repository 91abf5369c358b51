"""The machine under a collector: its disk, who can enter the directory, how long a sync takes, the engine, the clock."""

from __future__ import annotations

import errno
import os
import platform
import statistics
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from retrospan.ingest.compiled import is_compiled
from retrospan.ingest.doctor.finding import Finding, failed, ok, warning
from retrospan.ingest.log.tightening import open_to_others
from retrospan.ingest.machine.confinement import landlock_abi
from retrospan.ingest.machine.durable_files import NO_ROOM, Files
from retrospan.ingest.machine.operating_system import ELSEWHERE, has_collectors, named

SYNCS = 20
SYNC_BYTES = 4096
#: An acknowledgement waits for one sync: above this it is reported.
SLOW_SYNC_SECONDS = 0.05
CLOCK_SECONDS = 2.0
_MEMORY = {"tmpfs": "memory", "ramfs": "memory"}
_REMOTE = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "ceph", "glusterfs")


def nearest(directory: Path) -> Path:
    """Return the directory, or the first above it that is there."""
    found = directory.absolute()
    while not found.is_dir() and found != found.parent:
        found = found.parent
    return found


def check_disk(directory: Path, low_water_bytes: int, files: Files | None = None) -> Finding:
    """Return whether there is room, and whether it is a disk at all."""
    place = nearest(directory)
    free = (files or Files()).free_bytes(place)
    said = f"{free / 1e9:,.1f} GB free in {place}"
    if free < low_water_bytes:
        return failed(
            "disk",
            f"{said}; nothing is accepted below {low_water_bytes / 1e9:,.1f} GB",
            "free some space, or lower limits.low_water_bytes",
        )
    kind = _file_system(place)
    if kind in _MEMORY:
        return warning(
            "disk", f"{said}, which is memory ({kind}): lost at a restart", "choose a disk: --data DIR"
        )
    if kind.startswith(_REMOTE):
        return warning(
            "disk",
            f"{said}, over the network ({kind}): locks and syncs may not be reliable",
            "choose a local disk: --data DIR",
        )
    if free < 2 * low_water_bytes:
        return warning(
            "disk", f"{said}; nothing is accepted below {low_water_bytes / 1e9:,.1f} GB", "free some space"
        )
    return ok("disk", f"{said} ({kind})" if kind else said)


def check_private(directory: Path) -> Finding | None:
    """Return whether nobody but its owner can enter a data directory; None when there is none to look at."""
    try:
        opened = open_to_others(directory)
        owner = directory.stat().st_uid
    except OSError:
        return None
    if opened is None:
        return ok("private", f"{directory} is closed to other users")
    return warning(
        "private",
        f"{directory} can be entered by others: {opened}, and it belongs to uid {owner}",
        f"chmod 700 {directory} as its owner; where it is a mount point, choose a directory below it: --data DIR",
    )


def way_out(error: OSError) -> str:
    """Return what to do where the doctor may not write."""
    if error.errno == errno.EROFS:
        return "mount the disk for writing, or have the doctor look at a copy"
    if error.errno in NO_ROOM:
        return "free some of the disk"
    return "run doctor as the collector's user"


def check_sync(directory: Path, files: Files | None = None) -> Finding:
    """Return how long the disk takes to make 4 KiB durable, in a file of its own that is removed."""
    files = files or Files()
    place = nearest(directory)
    path = place / f".retrospan-doctor-{os.getpid()}"
    try:
        descriptor = files.create(path)
    except OSError as error:
        return warning(
            "sync",
            f"not measured: {place} cannot be written ({error.strerror})",
            way_out(error),
        )
    took: list[float] = []
    try:
        for _ in range(SYNCS):
            files.append(descriptor, [bytes(SYNC_BYTES)])
            started = time.perf_counter()
            files.sync(descriptor)
            took.append(time.perf_counter() - started)
    except OSError as error:
        return failed("sync", f"the disk of {place} refused a sync: {error.strerror}", "replace the disk")
    finally:
        files.close(descriptor)
        files.remove(path)
    median, longest = statistics.median(took), max(took)
    said = f"{median * 1000:.1f} ms for a sync of 4 KiB, {longest * 1000:.1f} ms at most, of {SYNCS}"
    if median > SLOW_SYNC_SECONDS:
        return warning(
            "sync", f"{said}: every acknowledgement waits for one", "choose a faster disk: --data DIR"
        )
    return ok("sync", said)


def check_system() -> Finding:
    """Return whether a collector can run on this system."""
    said = f"{named()}, Python {platform.python_version()}"
    return (
        ok("system", said)
        if has_collectors()
        else failed("system", f"{said}: a collector runs on Linux and macOS", ELSEWHERE)
    )


def check_core() -> Finding:
    """Return whether runs are read by compiled modules or by Python; both give the same rows."""
    if is_compiled():
        return ok("core", "this installation reads runs with compiled modules")
    return ok("core", "this installation reads runs with pure Python")


def check_engine() -> Finding:
    """Return whether the embedded ClickHouse is installed. It is not started."""
    try:
        return ok("engine", f"chDB {version('chdb-core')} is installed")
    except PackageNotFoundError:
        return failed(
            "engine",
            "chDB is not installed, and a collector cannot start",
            'pip install "retrospan[embedded]"',
        )


def check_confinement() -> Finding:
    """Return whether the kernel can hold the engine's process to its directory."""
    abi = landlock_abi()
    if not abi:
        return warning(
            "confinement",
            "the kernel has no Landlock: a query that got past the guard of the SQL port could read whatever the collector's user can",
            "use a kernel with Landlock (5.13 or later, `lsm=landlock,…`), or a separate user",
        )
    if abi < 4:
        return warning(
            "confinement",
            f"Landlock ABI {abi} keeps the engine from other files, and not from connecting",
            "use a kernel of 6.7 or later, or block outgoing connections",
        )
    return ok("confinement", f"the kernel has Landlock ABI {abi}")


_WENT_BACK = (
    "synchronise it by NTP; arrivals continue from the last record, and retention is refused. If the clock is right now "
    "and was far ahead, begin a new directory (docs/operations.md)"
)


def check_clock(theirs: str, behind: float = 0.0) -> Finding:
    """Return whether a collector's clock and this one agree. `theirs` is RFC 3339; `behind` how many seconds its clock is
    behind the last arrival."""
    if behind > CLOCK_SECONDS:
        return warning(
            "clock", f"the collector's clock is {behind:,.0f} s behind the last arrival", _WENT_BACK
        )
    try:
        apart = (datetime.now(UTC) - datetime.fromisoformat(theirs)).total_seconds()
    except ValueError:
        return warning(
            "clock", "the collector does not report its time", "use the same release on both sides"
        )
    if abs(apart) > CLOCK_SECONDS:
        return warning(
            "clock",
            f"the collector's clock is {abs(apart):,.0f} s {'behind' if apart > 0 else 'ahead of'} this one",
            "synchronise both by NTP: times of one run come from several clocks",
        )
    return ok("clock", "the collector's clock and this one agree")


def check_arrival(last_arrived_ns: int) -> Finding:
    """Return whether the clock has gone on since the last record."""
    ahead = last_arrived_ns / 1e9 - time.time()
    if ahead > CLOCK_SECONDS:
        return warning(
            "clock",
            f"the last record arrived {ahead:,.0f} s from now: the clock went back",
            _WENT_BACK,
        )
    return ok("clock", "later than the last record" if last_arrived_ns else "nothing to compare it with")


def _file_system(place: Path) -> str:
    """Return the kind of file system, such as ext4; '' when the system does not tell."""
    try:
        device = os.stat(place).st_dev
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        mount, _, kind = line.partition(" - ")
        if mount.split()[2] == wanted:
            return kind.split()[0]
    return ""
