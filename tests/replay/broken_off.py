"""Run by `test_other_clients` with clients of an environment of their own: whole answers and streams that break off.

    python broken_off.py CLIENT BUNDLE

Prints as JSON the text that came, the class of the error that ended it or null, and the verdict of the replay.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from retrospan.exporter.replay import replay

URL = "https://model.invalid/v1/chat/completions"
BODY = {
    "model": "gpt-4o-mini",
    "stream": True,
    "messages": [
        {"role": "system", "content": "You are Orla."},
        {"role": "user", "content": "What is the weather in Oslo?"},
    ],
}
GOT = list[bytes]()


def by_aiohttp() -> None:
    aiohttp: Any = import_module("aiohttp")

    async def ask() -> None:
        async with aiohttp.ClientSession() as session, session.post(URL, json=BODY) as response:
            assert response.status == 200
            async for line in response.content:
                GOT.append(line)

    asyncio.run(ask())


def by_http2() -> None:
    import httpx

    with httpx.Client(http2=True) as client, client.stream("POST", URL, json=BODY) as response:
        GOT.extend(line.encode() for line in response.iter_lines())


def by_http2_async() -> None:
    import httpx

    async def ask() -> None:
        async with httpx.AsyncClient(http2=True) as client, client.stream("POST", URL, json=BODY) as response:
            async for line in response.aiter_lines():
                GOT.append(line.encode())

    asyncio.run(ask())


CLIENTS: dict[str, Callable[[], None]] = {
    "aiohttp": by_aiohttp, "http2": by_http2, "http2-async": by_http2_async,
}  # fmt: skip


def text() -> str:
    """Return what the lines of the stream say."""
    said = list[str]()
    for line in GOT:
        data = line.strip().removeprefix(b"data: ")
        if data.startswith(b"{"):
            found: dict[str, Any] = json.loads(data)
            said += [choice["delta"].get("content") or "" for choice in found["choices"]]
    return "".join(said)


def main(client: str, bundle: str) -> None:
    error = None
    with replay(bundle) as session:
        try:
            CLIENTS[client]()
        except Exception as raised:  # noqa: BLE001 - which one is the question
            error = f"{type(raised).__module__.partition('.')[0]}.{type(raised).__name__}"
    print(json.dumps({"text": text(), "error": error, "verdict": session.report.verdict}))


if __name__ == "__main__":
    main(*sys.argv[1:])
