"""What goes first when processor time is scarce: receiving, then loading, then interpreting, then archiving.

What is acknowledged is safe, so a sender's request comes before everything that can be done a moment later. The
kernel keeps the order: on Linux a niceness belongs to a thread, and costs nothing while a core is free.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

LOADING = 5
INTERPRETING = 10
ARCHIVING = 15
#: The embedded engine's threads that merge, by their name.
MERGING = "MergeMutate"


def set_thread_nice(niceness: int) -> None:
    """Lower the calling thread's priority, and that of the threads it starts. Elsewhere than on Linux nothing happens."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


def lower_threads(name: str, niceness: int, pid: int | str = "self") -> None:
    """Lower the priority of a process's threads of a name, as the kernel has it: those that a library started."""
    for task in Path(f"/proc/{pid}/task").glob("*/comm"):
        try:
            if task.read_text().strip() == name:
                os.setpriority(os.PRIO_PROCESS, int(task.parent.name), niceness)
        except OSError:
            pass  # it has ended, or runs lower already
