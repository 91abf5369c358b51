"""What a client wants done to its answer: ClickHouse's blocks (`compress=1`), a Content-Encoding, both or neither."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

import lz4.frame
from isal import isal_zlib

from retrospan.ingest.answer.encodings.blocks import compressed_blocks
from retrospan.ingest.http.messages import Response

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: Quick rather than small: an answer is compressed once and read once.
_ZSTD_LEVEL = 1
_GZIP, _ZLIB = 31, 15

#: What an error begins with that ends an answer.
LAST_WORDS = b"\r\n__exception__\r\n"

#: Content that is given to a compressor, and whether it is the last; what has to be sent.
Compress = Callable[[bytes, bool], bytes]


@dataclass(frozen=True, slots=True)
class Packing:
    """What is done to an answer. `encoding` is a Content-Encoding, '' for none."""

    in_blocks: bool
    encoding: str

    @property
    def headers(self) -> dict[str, str]:
        """The headers that tell of it."""
        return {"Content-Encoding": self.encoding, "Vary": "Accept-Encoding"} if self.encoding else {}

    def whole(self, body: bytes) -> bytes:
        """Return a body that is complete."""
        if not body:
            return body
        packed = b"".join(compressed_blocks(body)) if self.in_blocks else body
        return _COMPRESSORS[self.encoding]()(packed, True) if self.encoding else packed

    async def pieces(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield a body as it comes: what goes in comes out at once, so that a reader sees what the engine has sent."""
        compress = _COMPRESSORS[self.encoding]() if self.encoding else None
        async for piece in pieces:
            # clickhouse-go looks for the text of an error in what it received, before it is decompressed.
            legible = piece.startswith(LAST_WORDS)
            for block in compressed_blocks(piece, legible=legible) if self.in_blocks else (piece,):
                yield compress(block, False) if compress else block
        if compress:
            yield compress(b"", True)


def packed(response: Response, packing: Packing) -> Response:
    """Return a response with its body, or stream, as the client wants it."""
    headers = {**response.headers, **packing.headers}
    if response.stream is None:
        return replace(response, body=packing.whole(response.body), headers=headers)
    assert isinstance(response.stream, AsyncIterator)
    return replace(response, stream=packing.pieces(response.stream), headers=headers)


def packing_of(query: Mapping[str, str], headers: Mapping[str, str]) -> Packing:
    """Return what a request wants done to its answer.

    A Content-Encoding is used only where `enable_http_compression` asks for it, as in ClickHouse: many clients send
    Accept-Encoding without being ready for it.
    """
    wanted = query.get("enable_http_compression", "0") in ("1", "true")
    return Packing(
        in_blocks=query.get("compress", "0") in ("1", "true"),
        encoding=_accepted(headers.get("accept-encoding", "")) if wanted else "",
    )


def _accepted(accept: str) -> str:
    """Return the best of what an Accept-Encoding allows: the quickest first."""
    allowed: set[str] = set()
    for item in accept.lower().split(","):
        name, _, more = item.strip().partition(";")
        quality = more.strip().removeprefix("q=").strip() if more else "1"
        if quality.rstrip("0").rstrip(".") not in ("", "0"):
            allowed.add(name.strip())
    return next((name for name in _COMPRESSORS if name in allowed), "")


def _zstd() -> Compress:
    stream = zstd.ZstdCompressor(level=_ZSTD_LEVEL)

    def compress(content: bytes, last: bool) -> bytes:
        return stream.compress(content, stream.FLUSH_FRAME if last else stream.FLUSH_BLOCK)

    return compress


def _lz4() -> Compress:
    stream = lz4.frame.LZ4FrameCompressor(auto_flush=True)
    begun = False

    def compress(content: bytes, last: bool) -> bytes:
        nonlocal begun
        head = b"" if begun else cast("bytes", stream.begin())
        begun = True
        return (
            head + cast("bytes", stream.compress(content)) + (cast("bytes", stream.flush()) if last else b"")
        )

    return compress


def _deflate(window: int) -> Callable[[], Compress]:
    def begin() -> Compress:
        stream = isal_zlib.compressobj(1, isal_zlib.DEFLATED, window)

        def compress(content: bytes, last: bool) -> bytes:
            return stream.compress(content) + stream.flush(
                isal_zlib.Z_FINISH if last else isal_zlib.Z_SYNC_FLUSH
            )

        return compress

    return begin


_COMPRESSORS: Mapping[str, Callable[[], Compress]] = {
    "zstd": _zstd,
    "lz4": _lz4,
    "gzip": _deflate(_GZIP),
    "deflate": _deflate(_ZLIB),
}
