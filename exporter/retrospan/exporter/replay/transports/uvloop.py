"""uvloop connects, looks names up and starts programs in C, where no hook of the interpreter is asked: its loop asks
here before it does.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from retrospan.exporter.replay.current import guard
from retrospan.exporter.replay.patches import Around, patch


def install(name: str) -> None:
    """Ask before every loop, also those that are there already, lets something out. Harmless when installed."""
    loop = import_module(name).Loop
    for way, around in _WAYS.items():
        patch(loop, way, around)


def _connect(original: Any, loop: Any, factory: Any, host: Any = None, port: Any = None, **named: Any) -> Any:
    # A socket that is given was connected by Python, which was asked.
    if (at := guard()) is not None and host is not None:
        at.connect((host, port))
    return original(loop, factory, host, port, **named)


def _connect_unix(original: Any, loop: Any, factory: Any, path: Any = None, **named: Any) -> Any:
    if (at := guard()) is not None and path is not None:
        at.connect(str(path))
    return original(loop, factory, path, **named)


def _send(
    original: Any, loop: Any, factory: Any, local_addr: Any = None, remote_addr: Any = None, **named: Any
) -> Any:
    # Without a remote address each datagram names its own, and none of them is seen.
    if (at := guard()) is not None:
        at.connect(tuple(remote_addr) if remote_addr else ("any host", 0))
    return original(loop, factory, local_addr=local_addr, remote_addr=remote_addr, **named)


def _look_up(original: Any, loop: Any, host: Any, port: Any = None, *args: Any, **named: Any) -> Any:
    if (at := guard()) is not None:
        at.resolve(host, port)
    return original(loop, host, port, *args, **named)


def _look_back(original: Any, loop: Any, address: Any, *args: Any, **named: Any) -> Any:
    if (at := guard()) is not None:
        at.resolve_back(address[0])
    return original(loop, address, *args, **named)


def _start(original: Any, loop: Any, factory: Any, program: Any, *args: Any, **named: Any) -> Any:
    if (at := guard()) is not None:
        at.start(program)
    return original(loop, factory, program, *args, **named)


_WAYS: dict[str, Around] = {
    "create_connection": _connect,
    "create_unix_connection": _connect_unix,
    "create_datagram_endpoint": _send,
    "getaddrinfo": _look_up,
    "getnameinfo": _look_back,
    "subprocess_exec": _start,
    "subprocess_shell": _start,
}
