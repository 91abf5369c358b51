"""Who goes first when the processor is short: receiving, then loading, then interpreting, then archiving.

What is acknowledged is safe, so a sender's request comes before everything that can be done a moment later. The
kernel keeps the order: on Linux a niceness belongs to a thread, and costs nothing while a core is free.
"""

from __future__ import annotations

import os
import sys
import threading

LOADING = 5
INTERPRETING = 10
ARCHIVING = 15


def give_way(niceness: int) -> None:
    """Lower the calling thread's priority, and that of the threads it starts. Elsewhere than on Linux nothing happens."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
