"""Closes a data directory to everyone but its owner when a collector starts.

Earlier releases created it with the modes of the umask, and a copy or a volume may come with any modes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW


def tighten(directory: Path, log_event: Callable[[str], None] = lambda line: None) -> int:
    """Take from everybody else what they may do with a data directory and with what lies in it.

    Returns how many entries were changed; `say` gets one line when there was anything to change, or when others can
    enter all the same.

    The directory itself comes first, and is enough: below it nobody gets anywhere. Of its folders only those are gone
    through that are open themselves, each closed after what it holds, so that what a kill leaves undone the next
    start does. Links are not followed, and what belongs to another user is left alone. So is a directory that is
    another user's, such as a mount point, or that can only be read: it stays open, and what is in it is closed.
    """
    place = directory.resolve()
    mode = stat.S_IMODE(place.stat().st_mode)
    changed = _close(place)
    for entry in _entries(place):
        changed += _close_folder(entry.path) if entry.is_dir(follow_symlinks=False) else _close(entry.path)
    found = place.stat()
    if found.st_mode & OTHERS:
        log_event(
            f"{directory} is open to others (mode {mode:04o}) and this process cannot close it; files that it "
            "creates there are closed to them"
        )
    elif found.st_uid not in (0, os.geteuid()):
        log_event(
            f"{directory} belongs to uid {found.st_uid}, who can make it accessible to others at any time"
        )
    elif changed:
        what = f"was open to others (mode {mode:04o})" if mode & OTHERS else "contained files open to others"
        log_event(f"{directory} {what}: {changed:,} files and directories are closed to them now")
    return changed


def open_to_others(directory: Path) -> str | None:
    """Return what lets others into a data directory, in words; None when nothing does.

    Whom it should belong to only its collector's user can tell; root cannot.
    """
    found = directory.stat()
    if found.st_mode & OTHERS:
        return f"its mode is {stat.S_IMODE(found.st_mode):04o}"
    if os.geteuid() not in (0, found.st_uid):
        return "it is another user's"
    return None


def _close_folder(path: str) -> int:
    if not os.lstat(path).st_mode & OTHERS:
        return 0
    folders, changed = [path], 0
    for folder in folders:  # which grows on the way
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            else:
                changed += _close(entry.path)
    return changed + sum(_close(folder) for folder in reversed(folders))


def _entries(folder: str | Path) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from entries


def _close(path: str | Path) -> int:
    """1 when the file or directory was open to others and is closed now."""
    with suppress(OSError):
        found = os.lstat(path)
        if not found.st_mode & OTHERS or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            return 0
        # By descriptor, and never through a link: whoever could write here until now may just have put one there.
        descriptor = os.open(path, _FLAGS)
        try:
            found = os.fstat(descriptor)
            if found.st_uid == os.geteuid():
                os.fchmod(descriptor, stat.S_IMODE(found.st_mode) & ~OTHERS)
                return 1
        finally:
            os.close(descriptor)
    return 0
