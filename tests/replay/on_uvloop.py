"""What an agent on uvloop may do in a replay, and after it. Prints what came of it, line by line."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from retrospan.exporter.replay import replay
from retrospan.schemas.bundle.form import Bundle, ModelCall, RunRecord
from retrospan.schemas.errors import ReplayRefused

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hello?"}]}
CALL = ModelCall(
    n=1,
    step=1,
    span_id=None,
    started_at=1,
    ended_at=2,
    model="m",
    messages=({"role": "user", "parts": [{"type": "text", "content": "Hello?"}]},),
    answer=({"role": "assistant", "parts": [{"type": "text", "content": "Snow."}]},),
)
RECORD = Bundle(made_by="", rules=None, runs=(RunRecord(run_id="run-1", calls=(CALL,)),))


async def tried(way: Callable[[], Awaitable[object]], port: int) -> None:
    try:
        await way()
        print("let out")
    except ReplayRefused as error:
        print(
            "refused:", str(error).removeprefix("replay: ").partition(" was ")[0].replace(str(port), "PORT")
        )


async def main() -> None:
    loop: Any = asyncio.get_running_loop()
    came = list[object]()
    server = await asyncio.start_server(lambda reader, writer: came.append(writer), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    httpx: Any = import_module("httpx")
    with replay(RECORD) as r:
        async with httpx.AsyncClient() as client:
            found = await client.post("https://model.invalid/v1/chat/completions", json=BODY)
            print("answered:", found.json()["choices"][0]["message"]["content"])
        for way in (
            lambda: asyncio.open_connection("127.0.0.1", port),
            lambda: asyncio.open_unix_connection("/run/nobody.sock"),
            lambda: loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=("127.0.0.1", port)),
            lambda: loop.create_datagram_endpoint(asyncio.DatagramProtocol, family=socket.AF_INET),
            lambda: loop.getaddrinfo("example.com", 443),
            lambda: loop.getnameinfo(("192.0.2.1", port)),
            lambda: asyncio.create_subprocess_exec("true"),
            lambda: asyncio.create_subprocess_shell("true"),
        ):
            await tried(way, port)
    await asyncio.sleep(0.05)
    print(r.report.verdict + ",", "nobody came" if not came else "somebody came")
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    print("after it: connected")
    writer.close()
    server.close()


if __name__ == "__main__":
    import_module("uvloop").run(main())
