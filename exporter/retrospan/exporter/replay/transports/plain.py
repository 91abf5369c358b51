"""HTTP/1.1 as bytes, for clients that can be hooked at their connection only. Pure."""

from __future__ import annotations

from http import HTTPStatus
from io import BytesIO
from typing import Any

from retrospan.exporter.replay.exchange import Exchange
from retrospan.exporter.replay.wire.form import Reply

_PHRASES = {status.value: status.phrase for status in HTTPStatus}


def read_request(sent: bytes, scheme: str, authority: str) -> Exchange | None:
    """Return the request in what was sent, None while it is not whole."""
    head, end, body = sent.partition(b"\r\n\r\n")
    if not end:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, *_ = [*first.split(" "), "", ""]
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    if "chunked" in headers.get("transfer-encoding", "").lower():
        joined = _joined(body)
        if joined is None:
            return None
        body = joined
    else:
        length = headers.get("content-length", "")
        if length.isdigit() and len(body) < int(length):
            return None
    url = target if "://" in target else f"{scheme}://{authority}{target}"
    return Exchange(method.upper(), url, headers, body)


def _joined(body: bytes) -> bytes | None:
    """Return the content of chunks, None while the last one is missing."""
    found: list[bytes] = []
    while True:
        size, end, rest = body.partition(b"\r\n")
        if not end:
            return None
        try:
            length = int(size.partition(b";")[0], 16)
        except ValueError:
            return None
        if length == 0:
            return b"".join(found)
        if len(rest) < length + 2:
            return None
        found.append(rest[:length])
        body = rest[length + 2 :]


def response_bytes(reply: Reply) -> bytes:
    """Return a reply as a server would send it, and close the connection."""
    body = reply.body
    lines = [
        f"HTTP/1.1 {reply.status} {_PHRASES.get(reply.status, '')}",
        f"content-type: {reply.content_type}",
        *(f"{name}: {value}" for name, value in reply.headers),
        # More than there is, where the reply breaks off: clients take that for a lost connection.
        f"content-length: {len(body) + (reply.cut is not None)}",
        "connection: close",
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


class Stalled(BytesIO):
    """What comes from a server that falls silent: after the last byte the client waits as long as it waits."""

    def __init__(self, data: bytes, message: str) -> None:
        super().__init__(data)
        self._message = message

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        if size is None or size < 0 or len(found) < size:
            raise TimeoutError(self._message)
        return found

    def readinto(self, buffer: Any, /) -> int:
        found = super().readinto(buffer)
        if found < len(buffer):
            raise TimeoutError(self._message)
        return found

    def read1(self, size: int | None = -1, /) -> bytes:
        return self._some(super().read1(size))

    def readline(self, size: int | None = -1, /) -> bytes:
        return self._some(super().readline(size))

    def _some(self, found: bytes) -> bytes:
        if not found:
            raise TimeoutError(self._message)
        return found


def with_body(sent: bytes, body: bytes) -> bytes:
    """Return a request as it was sent, with another body."""
    head = sent.partition(b"\r\n\r\n")[0].split(b"\r\n")
    kept = [line for line in head if not line.lower().startswith((b"content-length:", b"transfer-encoding:"))]
    return b"\r\n".join([*kept, f"Content-Length: {len(body)}".encode(), b"", body])
