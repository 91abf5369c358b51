"""Zstandard, within a limit."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def zstd_decompress(body: bytes, limit_bytes: int) -> bytes:
    """Return what is in a body of any number of frames, at most one byte more than the limit.

    Raises:
        ValueError: it is not zstd, or breaks off.
    """
    parts: list[bytes] = []
    room = limit_bytes + 1
    while body and room > 0:
        stream = zstd.ZstdDecompressor()
        try:
            part = stream.decompress(body, room)
        except zstd.ZstdError as cause:
            raise ValueError(f"it is not zstd: {cause}") from cause
        parts.append(part)
        room -= len(part)
        if not stream.eof and room > 0:
            raise ValueError("it ends in the middle of its zstd stream")
        body = stream.unused_data if stream.eof else b""
    return b"".join(parts)
