"""What each process does first, so that other users of the machine cannot read any of its data.

Each process that may write a data directory calls `close_to_others` before it opens anything: the collector and the
processes below it, `demo`, `doctor` and `torture`. Commands that only query do not: their output belongs to their user.
"""

from __future__ import annotations

import os
import resource

from retrospan.ingest.machine.operating_system import forbid_looking_in

UMASK = 0o077


def close_to_others() -> None:
    """Close this process to others: from now on, only its user can read what it writes, and nobody its memory.

    Files and directories are made 0600 and 0700, whoever makes them: the engine has no modes of its own. There is
    no core dump, which would hold everything in plain text. And no other process, not even of the same user, can
    read the memory or the variables of this one, or trace it: only root can (on macOS that is the system's own rule).

    The umask and the limit on core dumps are handed down to children. The last is not, so each process calls this.
    """
    os.umask(UMASK)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    forbid_looking_in()
