"""Content types and content encodings of OTLP/HTTP. Decompression never yields more than the limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from isal import isal_zlib

from retrospan.schemas.errors import BadRequest, PayloadTooLarge, UnsupportedMedia

if TYPE_CHECKING:
    from retrospan.ingest.receive.intake import Format

CONTENT_TYPES: dict[str, Format] = {"application/x-protobuf": "protobuf", "application/json": "json"}
_GZIP, _ZLIB, _RAW = 31, 15, -15
# The library's stubs call the class an instance.
_NoStream = cast("type[Exception]", isal_zlib.error)

# A body is fed in growing pieces: what a stream leaves over is copied, and a body may hold many tiny streams.
_FIRST_PIECE = 4 << 10
_LARGEST_PIECE = 1 << 20
_MOST_MEMBERS = 4096


def format_of(content_type: str) -> Format:
    """The format a Content-Type names. Raises UnsupportedMedia."""
    kind = content_type.partition(";")[0].strip().lower()
    found = CONTENT_TYPES.get(kind)
    if found is None:
        raise UnsupportedMedia(
            f"the content type is {kind or 'missing'!r}; send application/x-protobuf or application/json"
        )
    return found


def decompress(body: bytes, content_encoding: str, *, limit_bytes: int) -> bytes:
    """Undo a Content-Encoding: none, identity, gzip (any number of members) or deflate (zlib's or raw).

    Raises:
        PayloadTooLarge: the content is larger than `limit_bytes`; no more than that was ever in memory.
        BadRequest: the body is not what the encoding says, or breaks off.
        UnsupportedMedia: any other encoding.
    """
    encoding = content_encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise UnsupportedMedia(f"the content encoding is {encoding!r}; send gzip, deflate or none")
    if encoding != "deflate":
        return _inflate(body, _GZIP, "gzip", limit_bytes)
    try:
        return _inflate(body, _ZLIB, "deflate", limit_bytes)
    except BadRequest:
        # Some senders mean the bare deflate stream, without zlib's header.
        return _inflate(body, _RAW, "deflate", limit_bytes)


def _inflate(body: bytes, window: int, name: str, limit_bytes: int) -> bytes:
    parts: list[bytes] = []
    room = limit_bytes
    at = members = 0
    while at < len(body):
        members += 1
        if members > _MOST_MEMBERS:
            raise BadRequest(f"the body has more than {_MOST_MEMBERS} {name} members")
        at, room = _inflate_member(body, at, window, name, room, parts)
        if room < 0:
            parts.clear()  # the error's traceback would keep them for as long as somebody has the error
            raise PayloadTooLarge(
                f"the request is larger than {limit_bytes} bytes once decompressed", limit_bytes=limit_bytes
            )
        # A gzip body may go on with another member, or end in padding.
        if window != _GZIP or body.count(0, at) == len(body) - at:
            break
    return b"".join(parts)


def _inflate_member(
    body: bytes, at: int, window: int, name: str, room: int, parts: list[bytes]
) -> tuple[int, int]:
    """One stream from `at` on: where it ends, and how much room it left (below 0: it was too large)."""
    inflater = isal_zlib.decompressobj(window)
    piece = _FIRST_PIECE
    while not inflater.eof:
        if at >= len(body):
            raise BadRequest(f"the body breaks off in the middle of its {name} stream")
        compressed = body[at : at + piece]
        try:
            part = inflater.decompress(compressed, room + 1)
        except _NoStream as cause:
            raise BadRequest(f"the body is no {name}: {cause}") from cause
        parts.append(part)
        room -= len(part)
        if room < 0:
            break
        at += len(compressed) - len(inflater.unused_data)
        piece = min(piece * 4, _LARGEST_PIECE)
    return at, room
