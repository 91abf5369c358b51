"""What the HTTP server checks before a request reaches the tools: its Host and Origin, and whether the client still
waits.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import anyio
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Under this name a request's scope has the event of its client's leaving.
GONE = "retrospan.gone"
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"https?://(.+)")


class Front:
    """Passes on the requests that are addressed to one of these names, from no page of another's.

    What is refused is not logged: it holds what strangers wrote.
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self._app, self._names = app, frozenset(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(hosts) != 1 or not self._is_here(hosts[0]):
            await PlainTextResponse("Invalid Host header: name it with --name", 421)(scope, receive, send)
        elif not all(self._is_our_page(origin) for origin in origins):
            await PlainTextResponse("Invalid Origin header", 403)(scope, receive, send)
        else:
            await self._watched(scope, receive, send)

    def _is_here(self, authority: str) -> bool:
        found = _AUTHORITY.fullmatch(authority)
        return authority in self._names or (found is not None and found[1] in self._names)

    def _is_our_page(self, origin: str) -> bool:
        found = _ORIGIN.fullmatch(origin)
        return found is not None and self._is_here(found[1])

    async def _watched(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and let the answer know when nobody waits for it any more."""
        gone = anyio.Event()
        into, out = anyio.create_memory_object_stream[Message](1)

        async def watch() -> None:
            message: Message = {}
            while message.get("type") != "http.disconnect":
                message = await receive()
                if message["type"] == "http.disconnect":
                    gone.set()
                await into.send(message)

        with into, out:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch)
                await self._app({**scope, GONE: gone}, out.receive, send)
                tasks.cancel_scope.cancel()


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
