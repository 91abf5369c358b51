"""urllib3, and what sends with it: requests, botocore."""

from __future__ import annotations

from http import HTTPStatus
from http.client import IncompleteRead
from io import BytesIO
from typing import Any

from urllib3 import connectionpool, exceptions
from urllib3._collections import HTTPHeaderDict
from urllib3.response import HTTPResponse

from retrospan.exporter.replay.current import admit, current
from retrospan.exporter.replay.exchange import Exchange, TransportFailed, lower
from retrospan.exporter.replay.patches import patch
from retrospan.exporter.replay.wire.form import Cut, Reply


def install(name: str) -> None:
    """Answer requests of every pool, also of those that are there already. Harmless when installed."""
    patch(connectionpool.HTTPConnectionPool, "urlopen", _open)


def _open(original: Any, pool: Any, method: str, url: str, *args: Any, **named: Any) -> Any:
    replaying = current()
    if replaying is None:
        return original(pool, method, url, *args, **named)
    body = args[0] if args else named.get("body")
    headers = (args[1] if len(args) > 1 else named.get("headers")) or pool.headers or {}
    read = _read(body)
    port = "" if pool.port in (None, 80, 443) else f":{pool.port}"
    path = url if url.startswith("/") else url.partition("://")[2].partition("/")[2]
    whole = f"{pool.scheme}://{pool.host}{port}/{path.lstrip('/')}"
    exchange = Exchange(method.upper(), whole, lower(headers.items()), read)
    try:
        found = replaying.exchange(exchange)
    except TransportFailed as error:
        if error.kind == "timeout":
            raise exceptions.ReadTimeoutError(pool, url, str(error)) from None
        raise exceptions.ProtocolError(str(error)) from None
    if isinstance(found, Reply):
        return _response(found, method, url, named)
    admit(exchange.host)
    sent = read if found.body is None else found.body
    kept = {
        name: value
        for name, value in headers.items()
        if found.body is None or str(name).lower() != "content-length"
    }
    if found.body is not None:
        kept["Content-Length"] = str(len(sent))
    given = {key: value for key, value in named.items() if key not in ("body", "headers")}
    return original(pool, method, url, sent if body is not None or sent else None, kept, *args[2:], **given)


def _read(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    if hasattr(body, "read"):
        found = body.read()
        return found.encode() if isinstance(found, str) else bytes(found)
    return b"".join(each.encode() if isinstance(each, str) else bytes(each) for each in body)


def _response(reply: Reply, method: str, url: str, named: dict[str, Any]) -> HTTPResponse:
    headers = HTTPHeaderDict([("content-type", reply.content_type), *reply.headers])
    known = {status.value: status.phrase for status in HTTPStatus}
    return HTTPResponse(
        body=BytesIO(reply.body) if reply.cut is None else _BrokenOff(reply.body, reply.cut),
        headers=headers,
        status=reply.status,
        version=11,
        reason=known.get(reply.status, ""),
        preload_content=named.get("preload_content", True),
        decode_content=named.get("decode_content", True),
        request_method=method,
        request_url=url,
    )


class _BrokenOff(BytesIO):
    """A body whose end never comes."""

    def __init__(self, data: bytes, cut: Cut) -> None:
        super().__init__(data)
        self._cut = cut

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        if not found or size is None or size < 0:
            raise TimeoutError(self._cut.message) if self._cut.kind == "timeout" else IncompleteRead(found)
        return found
