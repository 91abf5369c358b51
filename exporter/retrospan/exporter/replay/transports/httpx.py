"""httpx, and httpx2 as newer clients bring it: the transports of clients, where they would open a connection."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

from retrospan.exporter.replay.current import admit, current
from retrospan.exporter.replay.exchange import Exchange, TransportFailed, lower
from retrospan.exporter.replay.patches import patch, patch_async
from retrospan.exporter.replay.wire.form import Cut, Reply


def install(name: str) -> None:
    """Answer requests of every client of `httpx` or `httpx2`, also of those that are there already. Harmless when
    installed.
    """
    httpx = sys.modules[name]
    patch(httpx.HTTPTransport, "handle_request", partial(_handle, httpx))
    patch_async(httpx.AsyncHTTPTransport, "handle_async_request", partial(_handle_async, httpx))


def _exchange(request: Any, body: bytes) -> Exchange:
    return Exchange(request.method.upper(), str(request.url), lower(request.headers.items()), body)


def _failed(httpx: Any, error: TransportFailed, request: Any) -> Exception:
    kind = httpx.ReadTimeout if error.kind == "timeout" else httpx.ConnectError
    failed: Exception = kind(str(error), request=request)
    return failed


def _with_body(httpx: Any, request: Any, body: bytes | None) -> Any:
    if body is None:
        return request
    headers = [
        pair
        for pair in request.headers.raw
        if pair[0].lower() not in (b"content-length", b"transfer-encoding")
    ]
    return httpx.Request(
        request.method, request.url, headers=headers, content=body, extensions=request.extensions
    )


def _headers(reply: Reply) -> list[tuple[str, str]]:
    return [("content-type", reply.content_type), *reply.headers]


def _handle(httpx: Any, original: Any, transport: Any, request: Any) -> Any:
    replaying = current()
    if replaying is None:
        return original(transport, request)
    exchange = _exchange(request, request.read())
    try:
        found = replaying.exchange(exchange)
    except TransportFailed as error:
        raise _failed(httpx, error, request) from None
    if not isinstance(found, Reply):
        admit(exchange.host)
        response = original(transport, _with_body(httpx, request, found.body))
        if found.recorded is not None and "json" in response.headers.get("content-type", ""):
            replaying.compare(exchange, found, response.read())
        return response
    content: Any = _pieces(httpx, found, request) if len(found.chunks) > 1 or found.cut else found.body
    return httpx.Response(found.status, headers=_headers(found), content=content, request=request)


async def _handle_async(httpx: Any, original: Any, transport: Any, request: Any) -> Any:
    replaying = current()
    if replaying is None:
        return await original(transport, request)
    exchange = _exchange(request, await request.aread())
    try:
        found = replaying.exchange(exchange)
    except TransportFailed as error:
        raise _failed(httpx, error, request) from None
    if not isinstance(found, Reply):
        admit(exchange.host)
        response = await original(transport, _with_body(httpx, request, found.body))
        if found.recorded is not None and "json" in response.headers.get("content-type", ""):
            replaying.compare(exchange, found, await response.aread())
        return response
    content: Any = _pieces_async(httpx, found, request) if len(found.chunks) > 1 or found.cut else found.body
    return httpx.Response(found.status, headers=_headers(found), content=content, request=request)


def _pieces(httpx: Any, reply: Reply, request: Any) -> Iterator[bytes]:
    yield from reply.chunks
    if reply.cut is not None:
        raise _broken_off(httpx, reply.cut, request)


async def _pieces_async(httpx: Any, reply: Reply, request: Any) -> AsyncIterator[bytes]:
    for chunk in reply.chunks:
        yield chunk
    if reply.cut is not None:
        raise _broken_off(httpx, reply.cut, request)


def _broken_off(httpx: Any, cut: Cut, request: Any) -> Exception:
    kind = httpx.ReadTimeout if cut.kind == "timeout" else httpx.RemoteProtocolError
    broken: Exception = kind(cut.message, request=request)
    return broken
