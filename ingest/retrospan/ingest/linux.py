"""Where a collector runs: on Linux, whose locks, syncs and walls around the engine it is made of."""

from __future__ import annotations

import platform
import sys

from retrospan.schemas.errors import ConfigError

#: What works here all the same, and what to do.
ELSEWHERE = (
    "run it in a container or on another machine: agents record from here, and commands query from here"
)


def is_linux() -> bool:
    """Return whether a collector can run here."""
    return sys.platform == "linux"


def named() -> str:
    """Return the system and the processor, such as `Linux on x86_64`."""
    system = {"darwin": "macOS", "win32": "Windows", "linux": "Linux"}.get(sys.platform, sys.platform)
    return f"{system} on {platform.machine()}"


def require_linux() -> None:
    """Raise ConfigError where a collector cannot run."""
    if not is_linux():
        raise ConfigError(f"the collector runs on Linux, and this is {named()}. {ELSEWHERE.capitalize()}.")
