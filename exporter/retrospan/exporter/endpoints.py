"""Addresses of a collector: which can be sent to. The same for an argument and for a variable."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

DEFAULT_ENDPOINTS = {"http/protobuf": "http://localhost:4318", "grpc": "http://localhost:4317"}
#: Who sends, and with which password, before the host.
_CREDENTIALS = re.compile(r"(?<=//)[^/?#]*@|\A[^/?#]*@")
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")
#: Names of grpcio that are not a host and a port.
_GRPC_NAMES = ("unix:", "unix-abstract:", "vsock:", "dns:", "ipv4:", "ipv6:", "xds:")


def shown(endpoint: object) -> str:
    """Return an address as it may be logged: without the user and the password in it."""
    return _CREDENTIALS.sub("…@", str(endpoint))


def credentials_in(endpoint: str) -> str:
    """Return the user and the password in an address as they stand there; '' where there are none."""
    found = _CREDENTIALS.search(endpoint)
    return found[0][:-1] if found else ""


def endpoint_reader(protocol: str) -> Callable[[object], str]:
    """Return what reads an endpoint: a URL; with gRPC also `host:port`. It raises ValueError, which repeats none of it."""

    def read(value: object) -> str:
        text = str(value).strip()
        if protocol == "grpc" and text.startswith(_GRPC_NAMES):
            return text
        url = f"http://{text}" if protocol == "grpc" and "://" not in text else text
        try:
            parts = urlsplit(url)
            port, host = parts.port, parts.hostname
        except ValueError as error:
            error = ValueError("the address cannot be read") if "@" in url else error
            raise ValueError(f"{error}; a URL such as {DEFAULT_ENDPOINTS[protocol]} is expected") from None
        if parts.scheme not in ("http", "https") or not host or _BLANK.search(url):
            raise ValueError(f"a URL such as {DEFAULT_ENDPOINTS[protocol]} is expected")
        if port == 0:
            raise ValueError("nobody can listen on port 0")
        if protocol == "grpc" and "@" in parts.netloc:
            raise ValueError("gRPC cannot send the user and password in an address; give a token, or headers")
        return text

    return read
