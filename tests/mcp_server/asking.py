"""A server as its users start it, and the ways to ask it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

COMMAND = [sys.executable, "-m", "retrospan.ingest.cli.main", "mcp"]


def environ(collector: str, **others: str) -> dict[str, str]:
    """Return the environment of a server that asks this collector."""
    return {**os.environ, "RETROSPAN_URL": collector, **others}


def text_of(result: Any) -> str:
    """Return the text of a tool's result."""
    (content,) = result.content
    assert content.type == "text"
    return str(content.text)


@contextmanager
def over_http(collector: str, **others: str) -> Iterator[str]:
    """A server on a free port; gives its address."""
    command = [*COMMAND, "--http", "127.0.0.1:0"]
    with subprocess.Popen(
        command, env=environ(collector, **others), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip().removeprefix("mcp=")
        finally:
            process.terminate()


def posted(url: str, method: str, parameters: dict[str, Any], **headers: str) -> dict[str, Any]:
    """Post one JSON-RPC request with nothing but the standard library."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).encode()
    sent = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
        **headers,
    }
    with urllib.request.urlopen(urllib.request.Request(url, body, sent), timeout=120) as reply:
        return dict(json.loads(reply.read()))
