"""Where an HTTP port is: what it listens on, how it is called, and how long its clients may take."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass

from retrospan.ingest.http.connection import HEADER_SECONDS, UNREAD_SECONDS
from retrospan.ingest.http.messages import BODY_SECONDS
from retrospan.ingest.http.visitors import Visitors
from retrospan.ingest.machine.port import bind
from retrospan.ingest.settings.config import TlsSettings
from retrospan.ingest.settings.setting_values import Address


@dataclass(frozen=True, slots=True)
class Site:
    """One port's address and what belongs to it.

    `tls`: the files of a certificate, or what was read from them. `listener` is a socket that listens on the address
    already; who serves closes it. `host_names` are further names of this collector, `origins` the pages that may ask from
    a browser. The seconds are how long the headers and the body of a request may take to arrive, and how long a client
    may leave an answer unread.
    """

    address: Address
    tls: TlsSettings | ssl.SSLContext | None = None
    listener: socket.socket | None = None
    host_names: Sequence[str] = ()
    origins: Sequence[str] = ()
    header_seconds: float = HEADER_SECONDS
    body_seconds: float = BODY_SECONDS
    unread_seconds: float = UNREAD_SECONDS

    def visitors(self, *, guarded: bool) -> Visitors:
        """Return who is answered here; `guarded`: a token is asked for."""
        return Visitors(self.address, guarded, self.host_names, self.origins)

    def bind(self, flag: str) -> socket.socket:
        """Return the socket that listens here; `flag` is the option that names the address. Raises PortInUse."""
        return self.listener or bind(self.address, flag=flag)
