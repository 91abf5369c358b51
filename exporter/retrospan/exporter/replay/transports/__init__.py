"""Clients of HTTP: each module here puts a replay between one client and the network, if that client is or becomes
imported.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module

from retrospan.exporter.hooks.watch import when_imported

#: The module of the client after whose import it can be hooked → ours. botocore sends with urllib3.
CLIENTS = {
    "http.client": "http_client",
    "httpx": "httpx",
    "httpx2": "httpx",
    "urllib3.connectionpool": "urllib3",
    "aiohttp": "aiohttp",
    "grpc": "grpc",
    "uvloop": "uvloop",
}


def install() -> None:
    """Put hooks on every client that is loaded, and every other one right after its import."""
    for watched, ours in CLIENTS.items():
        if watched in sys.modules:
            _install(watched, ours)
        else:
            when_imported(watched, partial(_install, watched, ours))


def _install(watched: str, ours: str) -> None:
    """Put a hook on a client; unlike a hook for recording this one must not fail in silence: the agent would get out."""
    import_module(f"{__name__}.{ours}").install(watched)
