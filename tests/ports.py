"""A port for what is started later, or again, or never."""

from __future__ import annotations

import random
import socket

#: Below those that the system gives to whoever asks for any, so that no test beside this one is given it meanwhile.
_FIRST, _LAST = 20_000, 32_000
_CHOICE = random.SystemRandom()  # no other process draws the same, whatever a test does to the seed


def unused_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens at just now."""
    while True:
        port = _CHOICE.randint(_FIRST, _LAST)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
