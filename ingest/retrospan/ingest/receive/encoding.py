"""Content types and content encodings of OTLP/HTTP. Decompression never yields more than the limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, cast

from isal import isal_zlib

from retrospan.ingest.receive.zstd_frames import decompressed_parts
from retrospan.schemas.errors import BadRequest, PayloadTooLarge, UnsupportedMedia

if TYPE_CHECKING:
    from retrospan.ingest.receive.intake import Format

CONTENT_TYPES: dict[str, Format] = {"application/x-protobuf": "protobuf", "application/json": "json"}
GZIP_MAGIC = b"\x1f\x8b"
_GZIP, _ZLIB, _RAW = 31, 15, -15
#: The library's stubs call the class an instance.
_NoStream = cast("type[Exception]", isal_zlib.error)

#: A body is fed in growing pieces: what a stream leaves over is copied, and a body may hold many tiny streams.
_FIRST_PIECE = 4 << 10
_LARGEST_PIECE = 1 << 18
#: Each part is accounted for before the next.
_LARGEST_PART = 1 << 20
_MOST_MEMBERS = 4096
#: Padding is looked through in pieces, so that nothing large is copied for it.
_PADDING_PIECE = 1 << 16


def format_of(content_type: str) -> Format:
    """Return the format a Content-Type names. Raises UnsupportedMedia."""
    kind = content_type.partition(";")[0].strip().lower()
    found = CONTENT_TYPES.get(kind)
    if found is None:
        raise UnsupportedMedia(
            f"the content type is {kind or 'missing'!r}; send application/x-protobuf or application/json"
        )
    return found


def announced_bytes(body: bytes, content_encoding: str, *, limit_bytes: int) -> int:
    """Return how large a body says that it will be, in good faith: gzip's last member ends with its size."""
    if _encoding(content_encoding) in ("", "identity"):
        return len(body)
    claimed = int.from_bytes(body[-4:], "little") if body.startswith(GZIP_MAGIC) else 0
    return min(limit_bytes, max(claimed, 4 * len(body)))


def encoding_of_message(body: bytes) -> str:
    """Return the encoding of a gRPC message, which its bytes tell: neither magic begins an export request."""
    if body.startswith(GZIP_MAGIC):
        return "gzip"
    return (
        "deflate" if len(body) > 1 and body[0] == 0x78 and int.from_bytes(body[:2], "big") % 31 == 0 else ""
    )


def _encoding(content_encoding: str) -> str:
    return content_encoding.strip().lower()


def decompress(
    body: bytes, content_encoding: str, *, limit_bytes: int, grown: Callable[[int], None] = lambda size: None
) -> bytes:
    """Undo a Content-Encoding: none, identity, gzip (any number of members), deflate (zlib's or raw) or zstd.

    `grown` is told the size so far, again and again, and may raise to end it.

    Raises:
        PayloadTooLarge: the content is larger than `limit_bytes`; no more than that was ever in memory.
        BadRequest: the body is not what the encoding says, or breaks off.
        UnsupportedMedia: any other encoding.
    """
    encoding = _encoding(content_encoding)
    if encoding in ("", "identity"):
        return body
    if encoding == "zstd":
        return _joined(decompressed_parts(body), limit_bytes, grown)
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise UnsupportedMedia(
            f"the content encoding is {encoding[:100]!r}; send gzip, deflate, zstd or none"
        )
    if encoding != "deflate":
        return _inflate(body, _GZIP, "gzip", limit_bytes, grown)
    try:
        return _inflate(body, _ZLIB, "deflate", limit_bytes, grown)
    except BadRequest:
        # Some senders mean the bare deflate stream, without zlib's header.
        return _inflate(body, _RAW, "deflate", limit_bytes, grown)


def _joined(pieces: Iterator[bytes], limit_bytes: int, grown: Callable[[int], None]) -> bytes:
    """Return what the pieces are together. Raises PayloadTooLarge as soon as that is more than the limit."""
    parts: list[bytes] = []
    size = 0
    for part in pieces:
        size += len(part)
        if size > limit_bytes:
            parts.clear()
            raise _too_large(limit_bytes)
        parts.append(part)
        grown(size)
    return b"".join(parts)


def _too_large(limit_bytes: int) -> PayloadTooLarge:
    return PayloadTooLarge(
        f"the request is larger than {limit_bytes} bytes once decompressed", limit_bytes=limit_bytes
    )


def _inflate(body: bytes, window: int, name: str, limit_bytes: int, grown: Callable[[int], None]) -> bytes:
    parts: list[bytes] = []
    room = limit_bytes
    at = members = 0
    # A gzip body may go on with another member, or end in padding: looked for once, however many members there are.
    end = _end_without_padding(body) if window == _GZIP else len(body)
    while at < len(body):
        if members and not GZIP_MAGIC.startswith(body[at : at + 2]):
            raise BadRequest(
                f"the body is {name} up to byte {at} of {len(body)}, and what follows is neither another member nor zeros"
            )
        members += 1
        if members > _MOST_MEMBERS:
            raise BadRequest(f"the body has more than {_MOST_MEMBERS} {name} members")
        for read, part in _inflate_member(body, at, window, name, room):
            at = read
            parts.append(part)
            room -= len(part)
            if room < 0:
                break
            grown(limit_bytes - room)
        if room < 0:
            parts.clear()  # the error's traceback would keep them for as long as somebody has the error
            raise _too_large(limit_bytes)
        if window != _GZIP or at >= end:
            break
    return b"".join(parts)


def _end_without_padding(body: bytes) -> int:
    """Return where the zeros begin in which a body ends; they may be the last bytes of a member."""
    end = len(body)
    while end:
        begin = max(0, end - _PADDING_PIECE)
        if piece := body[begin:end].rstrip(b"\0"):
            return begin + len(piece)
        end = begin
    return 0


def _inflate_member(body: bytes, at: int, window: int, name: str, room: int) -> Iterator[tuple[int, bytes]]:
    """One stream from `at` on, in parts: how far it has been read, and what that gave; not much more than `room`."""
    inflater = isal_zlib.decompressobj(window)
    piece = _FIRST_PIECE
    while not inflater.eof:
        if at >= len(body):
            raise BadRequest(f"the body ends in the middle of its {name} stream")
        compressed = body[at : at + piece]
        at += len(compressed)
        while compressed and not inflater.eof:
            try:
                part = inflater.decompress(compressed, min(room + 1, _LARGEST_PART))
            except _NoStream as cause:
                raise BadRequest(f"the body is not {name}: {cause}") from cause
            compressed = inflater.unconsumed_tail
            room -= len(part)
            yield at - len(inflater.unused_data), part
        piece = min(piece * 4, _LARGEST_PIECE)
