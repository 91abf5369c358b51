"""Decompresses the body of a request, within the memory that is reserved for the request."""

from __future__ import annotations

from retrospan.ingest.receive.budget import Hold
from retrospan.ingest.receive.encoding import announced_bytes, decompress, encoding_of_message
from retrospan.schemas.errors import BadRequest


def unpack(body: bytes, encoding: str, hold: Hold, *, limit_bytes: int) -> bytes:
    """Return a body in its content encoding; `hold` has room for the work on it afterwards.

    Raises:
        Overloaded: there is no room now.
        PayloadTooLarge, BadRequest, UnsupportedMedia: as `decompress` does.
    """
    hold.work(announced_bytes(body, encoding, limit_bytes=limit_bytes))
    return decompress(body, encoding, limit_bytes=limit_bytes, grown=hold.widen)


def unpack_message(body: bytes, hold: Hold, *, limit_bytes: int) -> bytes:
    """Return a gRPC message. The library says nowhere whether it is compressed. Raises as `unpack` does."""
    encoding = encoding_of_message(body)
    try:
        return unpack(body, encoding, hold, limit_bytes=limit_bytes)
    except BadRequest:
        if encoding == "deflate":
            # Two bytes prove nothing: it may be an export request that begins with a field nobody knows.
            return body
        raise
