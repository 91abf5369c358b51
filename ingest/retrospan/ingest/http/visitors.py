"""Whose requests an HTTP port answers: a page in a visitor's browser is not one of its clients.

A page that rebinds its own name to this machine's address sends that name as the Host; a page that posts here from
elsewhere sends its Origin. Both are refused, unless the name or the origin is listed. If a token is required, any Host
is accepted: a page that rebinds a name has no token.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from retrospan.ingest.settings.setting_values import Address, is_loopback

_PREFLIGHT_SECONDS = 7200
_HEADER_NAMES = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,1000}")
#: Of a request: names folded, `host` and `origin` joined where they came twice.
Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Visitors:
    """Who is answered at one address.

    `any_host`: a token is asked for. `names` are further names of this collector, `*.` before one stands for all below
    it. `origins` are the pages that may send and ask from a browser.
    """

    address: Address
    any_host: bool = False
    names: Sequence[str] = ()
    origins: Sequence[str] = ()
    _listed: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "_listed", frozenset(origin.casefold().rstrip("/") for origin in self.origins)
        )

    def refusal(self, headers: Headers) -> str | None:
        """Return why this request may not be answered at all; None when it may."""
        # Every browser names the host it asks; who names none (HTTP/1.0, a gRPC client on the wrong port) is not a page.
        host = headers.get("host")
        if host is not None and not self.any_host and not self._is_ours(host):
            return (
                f"host {host[:100]!r} is not a name of this collector. Use 127.0.0.1, localhost or its listening "
                "address, or add the name to host_names (--host-names)."
            )
        if self.is_listed(headers):
            return None
        origin = headers.get("origin")
        if origin is not None and not _is_own_page(origin, host or ""):
            return (
                f"requests from pages of {origin[:100]!r} are refused. If that page is meant to send or query, list "
                "it in: origins."
            )
        if headers.get("sec-fetch-site", "none").strip().casefold() not in ("none", "same-origin"):
            return "requests from other pages are refused. If a page is meant to send or query, list it in: origins."
        return None

    def is_listed(self, headers: Headers) -> bool:
        """Return whether the request is of a page that may send and ask."""
        origin = headers.get("origin")
        return origin is not None and origin.casefold() in self._listed

    def allowance(self, headers: Headers) -> list[tuple[bytes, bytes]]:
        """Return what tells a browser that the page may read the answer; empty for everybody else."""
        if not self.is_listed(headers):
            return []
        origin = headers["origin"].encode("latin-1", "replace")
        return [(b"access-control-allow-origin", origin), (b"vary", b"Origin")]

    def preflight(self, method: str, headers: Headers) -> list[tuple[bytes, bytes]] | None:
        """Return the headers that answer a listed page's question what it may send; None when this is not one."""
        wanted = headers.get("access-control-request-method")
        if method != "OPTIONS" or wanted is None or not self.is_listed(headers):
            return None
        asked = headers.get("access-control-request-headers", "")
        allowed = asked if _HEADER_NAMES.fullmatch(asked) else ""
        answer = [
            *self.allowance(headers),
            (b"access-control-allow-methods", b"GET, HEAD, POST"),
            (b"access-control-max-age", str(_PREFLIGHT_SECONDS).encode()),
        ]
        if allowed.strip():
            answer.append((b"access-control-allow-headers", allowed.strip().encode()))
        if headers.get("access-control-request-private-network") == "true":
            answer.append((b"access-control-allow-private-network", b"true"))
        return answer

    def _is_ours(self, host: str) -> bool:
        name = _name_of(host)
        if name is None:
            return False
        if name in ("localhost", self.address.host.lower()):
            return True
        if any(_matches(name, known.lower()) for known in self.names):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        # Reached from elsewhere, this machine has addresses that nobody told us; only names can be rebound.
        return is_loopback(name) or not self.address.loopback


def _matches(name: str, known: str) -> bool:
    return name.endswith(known[1:]) and name != known[2:] if known.startswith("*.") else name == known


def _name_of(host: str) -> str | None:
    """Return the name in `name:port`, `[v6]:port` or without a port; None when it is none of these."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    if parts.username is not None or parts.path or parts.query or parts.fragment:
        return None
    return (parts.hostname or "").lower()


def _is_own_page(origin: str, host: str) -> bool:
    """Return whether a page of this very port asks: it has the name and the port by which it was asked."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return (
        parts.scheme in ("http", "https")
        and bool(parts.netloc)
        and parts.netloc.casefold() == host.casefold()
    )
