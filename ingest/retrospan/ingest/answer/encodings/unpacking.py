"""Undoes what a client did to its request: Content-Encoding, ClickHouse's blocks, a form. Each within a limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import lz4.frame

from retrospan.ingest.answer.encodings.blocks import (
    CANNOT_DECOMPRESS,
    TOO_LARGE_SIZE_COMPRESSED,
    UNKNOWN_COMPRESSION_METHOD,
    decompress_blocks,
)
from retrospan.ingest.answer.encodings.form import BAD_ARGUMENTS, is_form, read_form
from retrospan.ingest.answer.encodings.limited_zstd import zstd_decompress
from retrospan.ingest.http.messages import Request
from retrospan.ingest.receive.encoding import decompress
from retrospan.schemas.errors import QUERY_TOO_LARGE, BadRequest, PayloadTooLarge, SqlError

#: What the parameters of a form may have together, beside the statement.
PARAMETER_BYTES = 1 << 20
#: Boundaries and names of a form.
_FORM_BYTES = 1 << 16


def most_body_bytes(headers: Mapping[str, str], text_bytes: int) -> int:
    """Return how much of a body is kept: of a form more, because its parameters are in it."""
    as_form = is_form(headers.get("content-type", ""))
    return text_bytes + PARAMETER_BYTES + _FORM_BYTES if as_form else text_bytes


def opened(request: Request, text_bytes: int) -> Request:
    """Return the request as it was before it was compressed or made a form; its fields are then in `query`.

    Raises:
        SqlError: it cannot be undone, with ClickHouse's own code, or is too large once it is.
    """
    encoding = request.headers.get("content-encoding", "").strip().lower()
    in_blocks = request.query.get("decompress", "0") in ("1", "true")
    if request.overlong:
        if in_blocks or encoding not in ("", "identity"):
            raise SqlError(f"a query may have at most {text_bytes:,} bytes.", code=QUERY_TOO_LARGE)
        return request  # judged by what can be read
    body, limit = request.body, most_body_bytes(request.headers, text_bytes)
    body = _decoded(body, encoding, limit)
    if in_blocks:
        body = decompress_blocks(body, limit)
    if "query" in request.repeated:
        raise SqlError("`query` is given twice.", code=BAD_ARGUMENTS)
    if not is_form(request.headers.get("content-type", "")):
        return replace(request, body=body)
    query = dict(request.query)
    for name, value in read_form(body, request.headers["content-type"]) if body else ():
        if name in query:
            raise SqlError(f"{name[:60]!r} is given twice.", code=BAD_ARGUMENTS)
        query[name] = value
    return replace(request, query=query, body=b"")


def _decoded(body: bytes, encoding: str, limit: int) -> bytes:
    if encoding in ("", "identity") or not body:
        return body
    try:
        if encoding == "zstd":
            found = zstd_decompress(body, limit)
        elif encoding == "lz4":
            found = _lz4_frames(body, limit)
        elif encoding in ("gzip", "x-gzip", "deflate"):
            found = decompress(body, encoding, limit_bytes=limit)
        else:
            raise SqlError(
                f"the content encoding is {encoding[:30]!r}; send gzip, deflate, lz4, zstd or none.",
                code=UNKNOWN_COMPRESSION_METHOD,
            )
    except PayloadTooLarge as cause:
        raise _too_large(limit) from cause
    except (BadRequest, ValueError) as cause:
        raise SqlError(f"the body cannot be decompressed: {cause}.", code=CANNOT_DECOMPRESS) from cause
    if len(found) > limit:
        raise _too_large(limit)
    return found


def _lz4_frames(body: bytes, limit: int) -> bytes:
    parts: list[bytes] = []
    room = limit + 1
    while body and room > 0:
        stream = lz4.frame.LZ4FrameDecompressor()
        try:
            part = stream.decompress(body, room)
        except RuntimeError as cause:
            raise ValueError(f"it is not lz4: {cause}") from cause
        parts.append(part)
        room -= len(part)
        if not stream.eof and room > 0:
            raise ValueError("it ends in the middle of its lz4 frame")
        body = bytes(stream.unused_data or b"") if stream.eof else b""
    return b"".join(parts)


def _too_large(limit: int) -> SqlError:
    return SqlError(
        f"the body is larger than {limit:,} bytes once decompressed.", code=TOO_LARGE_SIZE_COMPRESSED
    )
