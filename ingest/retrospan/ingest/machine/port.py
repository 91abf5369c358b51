"""Binding a port, and naming who already has it."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

from retrospan.ingest.settings.setting_values import Address
from retrospan.schemas.errors import PortInUse

_LISTEN = "0A"


def bind(address: Address, *, flag: str) -> socket.socket:
    """Return a listening TCP socket. `flag` is the option of `serve` that the message names.

    Raises:
        PortInUse: another process listens there; the message names it if /proc tells.
        OSError: the address cannot be used for another reason.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(512)
    except OSError as cause:
        listener.close()
        if address.port and (cause.errno == errno.EADDRINUSE or owner_of(address.port) is not None):
            raise port_in_use(address, flag=flag) from cause
        raise
    listener.setblocking(False)
    return listener


def port_in_use(address: Address, *, flag: str) -> PortInUse:
    """Return the error that says who has the port and how to choose another."""
    owner = owner_of(address.port)
    holder = f" by {owner}" if owner else ""
    return PortInUse(
        f"{address} is in use{holder}. Stop it, or choose another: retrospan serve {flag} {address.host}:0"
    )


def owner_of(port: int) -> str | None:
    """`pid 812 (otelcol)` for the process that listens on a port; '' if one does that may not be seen; None if
    nobody does."""
    inodes = _listening_inodes(port)
    if not inodes:
        return None
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and _holds(process, wanted):
            try:
                name = (process / "comm").read_text().strip()
            except OSError:
                name = "?"
            return f"pid {process.name} ({name})"
    return ""


def _listening_inodes(port: int) -> set[str]:
    inodes: set[str] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            columns = line.split()
            if columns[3] == _LISTEN and int(columns[1].rpartition(":")[2], 16) == port:
                inodes.add(columns[9])
    return inodes


def _holds(process: Path, sockets: set[str]) -> bool:
    try:
        return any(os.readlink(entry) in sockets for entry in (process / "fd").iterdir())
    except OSError:
        return False
