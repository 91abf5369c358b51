"""Looks up a host name once, and checks its address before anything connects to it.

A second look-up could give another address, so the connection is made to the address that was checked.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from concurrent.futures import Future

from retrospan.ingest.alerts.attempt import Deadline

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
#: All that was ever given out of IPv6. Beyond it lie site-local addresses, translated ones, and what is reserved, of which
#: Python takes some for global.
_UNICAST = ipaddress.ip_network("2000::/3")
#: Where clouds hand out a machine's credentials elsewhere than at link-local addresses: AWS and Google over IPv6, Alibaba,
#: Oracle, and Azure, whose address looks like any other.
_CREDENTIALS = frozenset(
    ipaddress.ip_address(each)
    for each in ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16")
)


class ForbiddenAddress(Exception):
    """A name resolves to an address to which nothing may be sent. The message names it."""


def address_of(host: str, port: int, *, allow_private: bool, deadline: Deadline) -> str:
    """Return the address to connect to.

    Raises:
        OSError: the name has no address, or looking it up takes too long.
        ForbiddenAddress: one of its addresses is not public.
    """
    found = _looked_up(host, port, deadline)
    for address in found:
        if reason := fault_of(address, allow_private=allow_private):
            raise ForbiddenAddress(f"{host} resolves to {address}, {reason}")
    return found[0]


def fault_of(text: str, *, allow_private: bool) -> str:
    """Return why nothing may be sent to an address; '' if it may.

    Those at which clouds hand out a machine's credentials are never allowed: link-local ones, as 169.254.169.254, and few
    others.
    """
    address: _Address = ipaddress.ip_address(text.partition("%")[0])
    inner = _within(address)
    for each in (address, inner) if inner is not None else (address,):
        if each.is_link_local or each.is_multicast or each.is_unspecified:
            return "which is a link-local address, or the address of no single machine"
        if each in _CREDENTIALS:
            return "at which a cloud hands out credentials"
        if not allow_private and not _is_public(each):
            return "which is not a public address; if alerts may be sent there, set allow_private = true"
    return ""


def _is_public(address: _Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_reserved
    # Of the others the address within is looked at as well.
    return address.is_global and (address in _UNICAST or address in _NAT64 or address.ipv4_mapped is not None)


def _within(address: _Address) -> _Address | None:
    """Return the IPv4 address that an IPv6 address embeds, in any of the standard ways."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)


def _looked_up(host: str, port: int, deadline: Deadline) -> list[str]:
    done: Future[list[str]] = Future()

    def look_up() -> None:
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            done.set_result([str(entry[4][0]) for entry in entries])
        except Exception as error:  # noqa: BLE001 - whoever waits raises it
            done.set_exception(error)

    # The system's resolver takes no deadline.
    threading.Thread(target=look_up, name="retrospan-alert-lookup", daemon=True).start()
    try:
        found = done.result(deadline.left())
    except TimeoutError as error:
        raise TimeoutError(f"looking up {host} took too long") from error
    except UnicodeError as error:
        raise OSError(f"{host} is not a host name") from error
    if not found:
        raise OSError(f"{host} has no address")
    return found
