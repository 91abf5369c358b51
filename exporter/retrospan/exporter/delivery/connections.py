"""Connections of `requests` that obey an exchange. Mounted for the one address that spans go to.

What `requests` and urllib3 do about proxies, certificates and kept connections stays theirs.
"""

from __future__ import annotations

import socket
from contextvars import ContextVar
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.poolmanager import ProxyManager

from retrospan.exporter.delivery.exchange import Exchange, WatchedSocket

#: The exchange that goes on in this thread: whoever sends sets it first.
current: ContextVar[Exchange] = ContextVar("current")

#: A name may stand for any number of addresses, each of which may be silent.
_MOST_ADDRESSES = 8


class _Connection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        """Try the addresses of the host one after the other: together they have what is left."""
        exchange, name = current.get(), self._dns_host
        found = socket.getaddrinfo(name, self.port, 0, socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))[:_MOST_ADDRESSES]
        try:
            for place, address in enumerate(addresses):
                self._dns_host = address
                self.timeout = exchange.left() / (len(addresses) - place)
                try:
                    made = super()._new_conn()
                except Exception:
                    if place == len(addresses) - 1:
                        raise
                else:
                    # The handshake of TLS has the rest, as one wait.
                    made.settimeout(exchange.left())
                    return made
        finally:
            self._dns_host = name
        raise OSError(f"{name} has no address")

    def _tunnel(self) -> None:
        plain: Any = self.sock
        self.sock = WatchedSocket(plain, current.get())
        try:
            super()._tunnel()
        finally:
            if self.sock is not None:
                plain.settimeout(current.get().left())
                self.sock = plain

    def connect(self) -> None:
        super().connect()
        self.sock = WatchedSocket(self.sock, current.get())

    def request(self, *args: Any, **options: Any) -> None:
        if isinstance(self.sock, WatchedSocket):
            self.sock.exchange = current.get()
        super().request(*args, **options)


class _SecureConnection(_Connection, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection  # pyright: ignore[reportAssignmentType]


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection  # pyright: ignore[reportAssignmentType]


_POOLS = {"http": _Pool, "https": _SecurePool}


class WatchedAdapter(HTTPAdapter):
    """Sends over connections that obey the current exchange."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: Any, **options: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **options)
        if type(manager) is ProxyManager:
            manager.pool_classes_by_scheme = _POOLS
        return manager
