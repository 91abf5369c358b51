"""Which files may control a collector: those that nobody but root and its own user can change.

Tokens say who may do what, rules what is redacted, a policy what is deleted: anyone who can write or replace such a
file controls the collector. As with sshd, every directory on the path to the file counts too.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PosixPath

from retrospan.schemas.errors import ConfigError

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_MOST_LINKS = 40


class Elsewhere(PosixPath):
    """A file that another process reads for this one, and looks at before."""


def require_trusted(path: Path, what: str = "") -> None:
    """Return if nobody but root and this process's user can change what is read from a file.

    Links are followed, as a Secret of Kubernetes needs it; the directories that they lie in count too. What may be on
    the way is a directory in which everybody may make files but only remove their own (/tmp, a Secret), and one that is
    mounted to be read only, where nobody here may make any (a ConfigMap). `what` is what errors call a file
    that is not there, such as `the tokens in`.

    Raises:
        ConfigError: somebody else can, and how that is mended; or the file cannot be looked at.
    """
    if isinstance(path, Elsewhere):
        return
    try:
        if _is_handed_over(path):
            return
        for directory in _on_the_way(path):
            found = os.stat(directory)
            is_open = found.st_mode & _WRITABLE_BY_OTHERS and not found.st_mode & stat.S_ISVTX
            if is_open and not os.statvfs(directory).f_flag & os.ST_RDONLY:
                raise ConfigError(
                    f"{path} can be replaced by others: {directory} has the mode {_mode(found)}. "
                    f"Run: chmod go-w {directory}"
                )
            _require_owner(found, path, directory)
        found = os.stat(path)
    except OSError as error:
        named = f"{what} {path}" if what else str(path)
        raise ConfigError(f"cannot read {named}: {error.strerror}.") from error
    if found.st_mode & _WRITABLE_BY_OTHERS:
        raise ConfigError(
            f"{path} can be written by others: its mode is {_mode(found)}. Run: chmod 600 {path}"
        )
    _require_owner(found, path, path)


def readable_by_others(path: Path) -> str | None:
    """Return the mode of a file that users besides root and its owner can read; None when they cannot.

    In a file system that can only be read, as a Secret is in a pod, others means nobody. The group counts where the
    file is this process's own, for then it needs no group.

    Raises:
        OSError: it cannot be looked at.
    """
    found = os.stat(path)
    others = stat.S_IROTH | (stat.S_IRGRP if found.st_uid == os.geteuid() else 0)
    if not found.st_mode & others or os.statvfs(path).f_flag & os.ST_RDONLY:
        return None
    return _mode(found)


def _is_handed_over(path: Path) -> bool:
    """Return whether it is a pipe that this process got from whoever started it, as the shell does for `<(…)`."""
    if path.parent not in (Path("/dev/fd"), Path("/proc/self/fd")):
        return False
    found = os.stat(path)
    return stat.S_ISFIFO(found.st_mode) and found.st_uid in (0, os.geteuid())


def _require_owner(found: os.stat_result, path: Path, owned: Path) -> None:
    if found.st_uid not in (0, os.geteuid()):
        what = "belongs" if owned == path else f"can be replaced by another user: {owned} belongs"
        raise ConfigError(
            f"{path} {what} to uid {found.st_uid}, and only root and the user that reads it (uid {os.geteuid()}) may "
            f"change it. Run: chown {os.geteuid()} {owned}"
        )


def _on_the_way(path: Path) -> Iterator[Path]:
    """Every directory in which a name is looked up, those of links included. Raises OSError."""
    at, names, links = Path("/"), list(path.absolute().parts[1:]), 0
    seen: set[Path] = set()
    while names:
        if at not in seen:
            seen.add(at)
            yield at
        name = names.pop(0)
        entry = at / name
        if name == "..":
            at = at.parent
        elif entry.is_symlink():
            links += 1
            if links > _MOST_LINKS:
                raise OSError(40, "too many links")
            target = entry.readlink()
            if target.is_absolute():
                at = Path("/")
            names = [*(part for part in target.parts if part != "/"), *names]
        else:
            at = entry


def _mode(found: os.stat_result) -> str:
    return f"{stat.S_IMODE(found.st_mode):04o}"
