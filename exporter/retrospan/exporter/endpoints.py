"""Addresses of a collector: which can be sent to. The same for an argument and for a variable."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

DEFAULT_ENDPOINTS = {"http/protobuf": "http://localhost:4318", "grpc": "http://localhost:4317"}
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")
#: Names of grpcio that are not a host and a port.
_GRPC_NAMES = ("unix:", "unix-abstract:", "vsock:", "dns:", "ipv4:", "ipv6:", "xds:")


def endpoint_reader(protocol: str) -> Callable[[object], str]:
    """Return what reads an endpoint: a URL; with gRPC also `host:port`. It raises ValueError."""

    def read(value: object) -> str:
        text = str(value).strip()
        if protocol == "grpc" and text.startswith(_GRPC_NAMES):
            return text
        url = f"http://{text}" if protocol == "grpc" and "://" not in text else text
        try:
            parts = urlsplit(url)
            port, host = parts.port, parts.hostname
        except ValueError as error:
            raise ValueError(f"{error}; a URL such as {DEFAULT_ENDPOINTS[protocol]} is expected") from None
        if parts.scheme not in ("http", "https") or not host or _BLANK.search(url):
            raise ValueError(f"a URL such as {DEFAULT_ENDPOINTS[protocol]} is expected")
        if port == 0:
            raise ValueError("nobody can listen on port 0")
        return text

    return read
