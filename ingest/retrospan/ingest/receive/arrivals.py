"""How much has arrived over a connection of the gRPC library, which does not report it.

The library takes in whole messages by itself. The kernel counts the bytes of each connection (TCP_INFO), and the
connections are found among the descriptors of this process by the address of their other end.
"""

from __future__ import annotations

import ctypes
import ipaddress
import os
import socket
import stat
import time
import urllib.parse
from functools import lru_cache

from retrospan.ingest.machine.operating_system import descriptors

Peer = tuple[str, int]

#: Only Linux counts like this.
_TCP_INFO: int | None = getattr(socket, "TCP_INFO", None)
#: struct tcp_info: tcpi_bytes_received, of 64 bits.
_RECEIVED, _LENGTH = slice(128, 136), 136
#: As a function of Python's own: it takes a microsecond, and to hand the interpreter to another thread takes longer.
_GETSOCKOPT = ctypes.PyDLL(None).getsockopt
#: A look through all descriptors may take this share of one processor.
_SEARCHING = 0.1


class Arrivals:
    """Looks at the connections of this process, from any thread; `received` by one thread only."""

    def __init__(self) -> None:
        self._descriptors: dict[Peer, int] = {}
        self._search_again = 0.0

    def received(self, peer: str) -> int | None:
        """Return the bytes that ever came from a peer, as gRPC names it; None where that cannot be told (now)."""
        wanted = _address(peer)
        if wanted is None or _TCP_INFO is None:
            return None
        found = self._of(wanted)
        if found is None and time.monotonic() >= self._search_again:
            self._search()
            found = self._of(wanted)
        return found

    def at_once(self, peer: str) -> int | None:
        """Return the same without a search and a second look at whose connection it is; None where it is not known.

        Called for every request: right unless the very same address came back by another descriptor.
        """
        wanted = _address(peer) if self._descriptors else None
        descriptor = None if wanted is None else self._descriptors.get(wanted)
        return None if descriptor is None else _count(descriptor)

    def _of(self, wanted: Peer) -> int | None:
        descriptor = self._descriptors.get(wanted)
        looked = None if descriptor is None else _look(descriptor)
        if looked is None or looked[0] != wanted:
            self._descriptors.pop(wanted, None)
            return None
        return looked[1]

    def _search(self) -> None:
        began = time.thread_time()
        found: dict[Peer, int] = {}
        for descriptor in descriptors():
            looked = _look(descriptor)
            if looked is not None:
                found[looked[0]] = descriptor
        self._descriptors = found
        self._search_again = time.monotonic() + (time.thread_time() - began) / _SEARCHING


def _look(descriptor: int) -> tuple[Peer, int] | None:
    """Return a connection's other end and what came from there. The descriptor may be another's by now, or nobody's."""
    if _TCP_INFO is None:
        return None
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            return None
        with socket.socket(fileno=os.dup(descriptor)) as connection:
            if connection.family not in (socket.AF_INET, socket.AF_INET6):
                return None
            host, port = connection.getpeername()[:2]
            info = connection.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _LENGTH)
    except OSError:
        return None
    if len(info) < _LENGTH:
        return None
    return (_plain(host), port), int.from_bytes(info[_RECEIVED], "little")


def _count(descriptor: int) -> int | None:
    """Return what came in over a connection, read without making a socket object of it."""
    info, length = ctypes.create_string_buffer(_LENGTH), ctypes.c_uint32(_LENGTH)
    if _GETSOCKOPT(descriptor, socket.IPPROTO_TCP, _TCP_INFO, info, ctypes.byref(length)):
        return None
    return int.from_bytes(info.raw[_RECEIVED], "little") if length.value >= _LENGTH else None


@lru_cache(maxsize=4096)
def _address(peer: str) -> Peer | None:
    """`ipv4:127.0.0.1:5000` or `ipv6:%5B::1%5D:5000`."""
    kind, _, rest = urllib.parse.unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if kind not in ("ipv4", "ipv6") or not port.isdigit():
        return None
    return _plain(host.strip("[]")), int(port)


def _plain(host: str) -> str:
    """Return an address as it is compared: an IPv4 address is one over a socket of IPv6 as well."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
