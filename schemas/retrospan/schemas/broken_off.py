"""What a statement says that fails after its answer has begun: ClickHouse writes it at the answer's end."""

from __future__ import annotations

import re


def failure_at_end(end: bytes, tag: str | None) -> tuple[bytes, str] | None:
    """Return what of the end of an answer is its data, and the text of the exception after that.

    None where no exception was written: then the connection itself broke. `tag` is that of the header
    `X-ClickHouse-Exception-Tag`: nothing that a row holds is taken for an exception.
    """
    if not tag:
        return None
    mark = re.escape(tag.encode())
    written = (
        rb"(?:\r?\n)?__exception__\r?\n" + mark + rb"\r?\n(.*?)\r?\n\d+ " + mark + rb"\r?\n__exception__\s*$"
    )
    found = re.search(written, end, re.DOTALL)
    return None if found is None else (end[: found.start()], found[1].decode(errors="surrogateescape"))
