"""ClickHouse's own compression, block by block: `compress=1` of an answer, `decompress=1` of a request.

A block is 16 bytes of CityHash128 (1.0.2) over what follows, a byte that names the method, the size of the block from that
byte on, the size of its content (both 32 bits, little-endian), and the compressed content. Source: ClickHouse's
documentation of the HTTP interface, and its `CompressedReadBufferBase`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import cast

import lz4.block
from clickhouse_cityhash.cityhash import CityHash128

from retrospan.ingest.answer.encodings.limited_zstd import zstd_decompress
from retrospan.schemas.errors import SqlError

CHECKSUM_DOESNT_MATCH = 40
UNKNOWN_COMPRESSION_METHOD = 89
TOO_LARGE_SIZE_COMPRESSED = 39
CANNOT_DECOMPRESS = 271
CANNOT_READ_ALL_DATA = 33

#: The content of one block of an answer: what ClickHouse itself fills.
BLOCK_BYTES = 1 << 20
_NONE, _LZ4, _ZSTD = 0x02, 0x82, 0x90
_HEADER = struct.Struct("<BII")
_HASH = struct.Struct("<QQ")
_HALF = (1 << 64) - 1
#: LZ4 looks for repetitions so rarely that it finds none in a text: it is then in the block as it is.
_AS_IT_IS = 1 << 17


def compressed_blocks(content: bytes | memoryview, *, legible: bool = False) -> Iterator[bytes]:
    """Yield content as blocks of LZ4; a `legible` text can also be read in the block itself."""
    effort = {"mode": "fast", "acceleration": _AS_IT_IS} if legible else {}
    for start in range(0, len(content), BLOCK_BYTES):
        piece = bytes(content[start : start + BLOCK_BYTES])
        packed = cast("bytes", lz4.block.compress(piece, store_size=False, **effort))
        block = _HEADER.pack(_LZ4, _HEADER.size + len(packed), len(piece)) + packed
        yield _hash(block) + block


def decompress_blocks(body: bytes, limit_bytes: int) -> bytes:
    """Return the content of blocks.

    Raises:
        SqlError: the body breaks off, a hash does not fit, a size lies, a method is unknown, or the content is larger
            than `limit_bytes`, of which no more was ever in memory.
    """
    parts: list[bytes] = []
    at, room = 0, limit_bytes
    while at < len(body):
        start = at + _HASH.size
        if start + _HEADER.size > len(body):
            raise SqlError("the body breaks off in the head of a block.", code=CANNOT_READ_ALL_DATA)
        method, packed_bytes, content_bytes = _HEADER.unpack_from(body, start)
        end = start + packed_bytes
        if packed_bytes < _HEADER.size or end > len(body):
            raise SqlError(
                f"a block of the body says that it has {packed_bytes:,} bytes, and {len(body) - start:,} are there.",
                code=CANNOT_READ_ALL_DATA,
            )
        if body[at:start] != _hash(body[start:end]):
            raise SqlError("a block of the body is not what its hash says.", code=CHECKSUM_DOESNT_MATCH)
        if content_bytes > room:
            raise SqlError(
                f"the body is larger than {limit_bytes:,} bytes once decompressed.",
                code=TOO_LARGE_SIZE_COMPRESSED,
            )
        part = _content(method, body[start + _HEADER.size : end], content_bytes)
        parts.append(part)
        room -= len(part)
        at = end
    return b"".join(parts)


def _content(method: int, packed: bytes, content_bytes: int) -> bytes:
    try:
        if method == _LZ4:
            part = cast("bytes", lz4.block.decompress(packed, uncompressed_size=content_bytes))
        elif method == _ZSTD:
            part = zstd_decompress(packed, content_bytes)
        elif method == _NONE:
            part = packed
        else:
            raise SqlError(
                f"a block of the body names the method {method:#04x}; send LZ4, ZSTD or none.",
                code=UNKNOWN_COMPRESSION_METHOD,
            )
    except (lz4.block.LZ4BlockError, ValueError) as cause:
        raise SqlError(
            f"a block of the body cannot be decompressed: {cause}.", code=CANNOT_DECOMPRESS
        ) from cause
    if len(part) != content_bytes:
        raise SqlError(
            f"a block of the body says that it holds {content_bytes:,} bytes, and it holds {len(part):,}.",
            code=CANNOT_DECOMPRESS,
        )
    return part


def _hash(block: bytes) -> bytes:
    found = int(CityHash128(block))
    return _HASH.pack(found >> 64, found & _HALF)
