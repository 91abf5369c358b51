"""A request with its whole body, and a response, for applications that know nothing of ASGI."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from retrospan.schemas.errors import BadRequest, RetrospanError, SlowRequest

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

#: How long the body of a request may take to arrive.
BODY_SECONDS = 30.0
#: Of an address. An empty one counts too: they are read in the thread that every connection shares.
MOST_FIELDS = 1000
_DRAINED_BYTES = 256 * 1024 * 1024
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]")


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `body` is complete unless `overlong`."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    overlong: bool
    repeated: frozenset[str] = frozenset()
    """Names that the address gives more than once; of these `query` has the last."""


@dataclass(frozen=True, slots=True)
class Response:
    """One response. A `stream` is sent in chunks as it comes, after `body`."""

    status: int
    body: bytes = b""
    content_type: str = "text/plain; charset=UTF-8"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    stream: Iterable[bytes] | AsyncIterator[bytes] | None = None


class Gone(RetrospanError):
    """The client hung up in the middle of its request."""


def text(status: int, message: str) -> Response:
    """Return a plain text response."""
    return Response(status, message.encode())


def headers_of(scope: Scope) -> dict[str, str]:
    """Return the headers by their folded names; those that came twice are joined. The host is that of the target, if it
    names one."""
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    target = scope["raw_path"]
    if target[:7].lower() == b"http://" or target[:8].lower() == b"https://":
        found["host"] = target.partition(b"://")[2].partition(b"/")[0].decode("latin-1")
    return found


async def read_request(
    scope: Scope, receive: Receive, body_bytes: int | Callable[[Mapping[str, str]], int], seconds: float
) -> Request:
    """Read the whole request. Of its body `body_bytes` are kept, or what these say of its headers; what is beyond
    is read and dropped, so that the client hears the answer.

    Raises:
        Gone: the client went away.
        BadRequest: the address has too many parameters.
        SlowRequest: the body took longer than `seconds`.
    """
    kept = bytearray()
    headers = headers_of(scope)
    if callable(body_bytes):
        body_bytes = body_bytes(headers)
    total, more = 0, True
    try:
        async with asyncio.timeout(seconds):
            while more and total <= _DRAINED_BYTES:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Gone
                part = message.get("body", b"")
                total += len(part)
                kept += part[: body_bytes - len(kept)]
                more = message.get("more_body", False)
    except TimeoutError as cause:
        raise SlowRequest(f"the body did not arrive within {seconds:g} s") from cause
    try:
        query = parse_qsl(
            scope["query_string"].decode("latin-1"),
            keep_blank_values=True,
            errors="surrogateescape",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError as cause:
        raise BadRequest(f"the address has more than {MOST_FIELDS} parameters") from cause
    times = Counter(name for name, _ in query)
    return Request(
        scope["method"],
        path_of(scope),
        dict(query),
        headers,
        bytes(kept),
        total > len(kept),
        frozenset(name for name, number in times.items() if number > 1),
    )


async def drain(receive: Receive, most_bytes: int = 1 << 20, seconds: float = 5.0) -> None:
    """Read what a client sends that gets no other answer than a refusal, so that it gets to read that."""
    size, more = 0, True
    try:
        async with asyncio.timeout(seconds):
            while more and size < most_bytes:
                message = await receive()
                size += len(message.get("body", b""))
                more = message.get("more_body", False)
    except TimeoutError:
        pass


def path_of(scope: Scope) -> str:
    """Return the path of the target, whether or not that names a host."""
    path: str = scope["path"]
    return path if path.startswith("/") else urlsplit(path).path or "/"


async def send_response(
    scope: Scope, send: Send, response: Response, extra: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Send a whole response; if a stream fails the connection is cut, so that nobody takes the answer for complete."""
    headers = [
        (b"content-type", response.content_type.encode("latin-1")),
        (b"x-content-type-options", b"nosniff"),
        # A value that came from the client may not begin a header of its own.
        *(
            (name.encode(), _UNPRINTABLE.sub(" ", value).strip().encode())
            for name, value in response.headers.items()
        ),
        *extra,
    ]
    if response.stream is None:
        headers.append((b"content-length", str(len(response.body)).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    if response.stream is None:
        await send({"type": "http.response.body", "body": response.body})
        return
    if scope["method"] == "HEAD":
        await send({"type": "http.response.body", "body": b""})
        return
    async for piece in (
        response.stream if isinstance(response.stream, AsyncIterator) else _pumped(response.stream)
    ):
        if piece:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _pumped(stream: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces of a stream that blocks, taken from it by a thread of its own."""
    import threading

    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    def pump() -> None:
        try:
            for piece in stream:
                loop.call_soon_threadsafe(pieces.put_nowait, piece)
            loop.call_soon_threadsafe(pieces.put_nowait, None)
        except RuntimeError:
            pass  # the loop has ended before the stream

    threading.Thread(target=pump, name="retrospan-stream", daemon=True).start()
    while (piece := await pieces.get()) is not None:
        yield piece
