"""Commands that heed Control-C, also where the tests run in the background and it is ignored."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_HEEDING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"


def heeding(command: Sequence[str]) -> list[str]:
    """The same command, begun anew after the signal's default was put back: what is ignored is inherited."""
    return [sys.executable, "-c", _HEEDING, *command]
