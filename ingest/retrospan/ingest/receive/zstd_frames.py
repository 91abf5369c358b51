"""Bodies in Zstandard: any number of frames, decompressed in parts.

A frame may ask for a window of 32 MiB, which is generous: RFC 9659 has every writer keep to 8. The memory is used as the
content fills it, so no frame has more of it than it has content.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from retrospan.schemas.errors import BadRequest

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_OPTIONS: Mapping[int, int] = {zstd.DecompressionParameter.window_log_max: 25}
#: As of gzip's members.
_MOST_FRAMES = 4096
_PIECE = 1 << 18
#: Each part is accounted for before the next.
_LARGEST_PART = 1 << 20


def decompressed_parts(body: bytes) -> Iterator[bytes]:
    """Yield the content in parts of at most a MiB.

    Raises:
        BadRequest: it is not zstd, breaks off, has too many frames, or one asks for too large a window.
    """
    at = frames = 0
    while at < len(body):
        frames += 1
        if frames > _MOST_FRAMES:
            raise BadRequest(f"the body has more than {_MOST_FRAMES} zstd frames")
        stream = zstd.ZstdDecompressor(options=_OPTIONS)
        while not stream.eof:
            piece = b""
            if stream.needs_input:
                if at >= len(body):
                    raise BadRequest("the body ends in the middle of its zstd stream")
                piece = body[at : at + _PIECE]
                at += len(piece)
            try:
                part = stream.decompress(piece, _LARGEST_PART)
            except zstd.ZstdError as cause:
                raise BadRequest(f"the body is not zstd that can be read here: {cause}") from cause
            yield part
        at -= len(stream.unused_data)
