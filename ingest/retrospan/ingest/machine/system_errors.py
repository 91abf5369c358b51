"""Messages for errors of the operating system: what failed, on which file, and what to do about it."""

from __future__ import annotations

import errno
import os

_ROOM = "Free some space on this disk, or use a directory on another one"
_DESCRIPTORS = (
    "Let the process have more descriptors (ulimit -n, or systemd's LimitNOFILE), or fewer connections"
)
_RIGHTS = "It must belong to the user who runs this, or let that user read and write"
_NAME = "Something else has this name, or a link by this name leads nowhere: put it right, or move it away"
_CURES = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EMFILE: _DESCRIPTORS,
    errno.ENFILE: _DESCRIPTORS,
    errno.EROFS: "This disk can only be read: mount it for writing, or use a directory on another one",
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EEXIST: _NAME,
    errno.ENOTDIR: _NAME,
    errno.EISDIR: _NAME,
    errno.ELOOP: _NAME,
    errno.EIO: "The disk may be failing: the kernel's messages say more (dmesg)",
}


def worded(error: OSError) -> str:
    """Return what happened, the file if it is known, and what to do where that is clear."""
    if not error.strerror:
        return str(error)
    named = f" ({os.fsdecode(error.filename)})" if isinstance(error.filename, str | bytes) else ""
    cure = _CURES.get(error.errno or 0)
    return f"{error.strerror}{named}" + (f". {cure}" if cure else "")
