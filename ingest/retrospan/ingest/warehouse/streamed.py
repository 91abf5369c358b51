"""Passes on an answer of a ClickHouse server while it arrives, and finds the error that may stand at its end.

An answer that began with status 200 can still fail. The server then ends the answer with

    __exception__ CR LF TAG CR LF message LF length SPACE TAG CR LF __exception__ CR LF

where TAG is what X-ClickHouse-Exception-Tag said, and closes the connection. None of that is passed on.
"""

from __future__ import annotations

import os
from typing import Any

_PIECE = 1 << 18
#: The longest error that a server puts there, with its frame.
_TAIL = 1 << 16
_MARK = b"__exception__\r\n"


class StreamedAnswer:
    """One answer. `write` belongs to one thread, `shut` to any."""

    def __init__(self, response: Any) -> None:
        """`response` is one of urllib3, of which only the headers were read."""
        self._response = response
        self._tag = str(response.headers.get("X-ClickHouse-Exception-Tag", "")).encode()

    def write(self, descriptor: int) -> None:
        """Write what comes to the descriptor, up to the end.

        Raises:
            DatabaseError: the server ended it with an error, whose text is the exception's.
            OperationalError: it broke off.
        """
        from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError
        from urllib3.exceptions import HTTPError

        held = b""
        broken: HTTPError | None = None
        try:
            for piece in self._response.stream(_PIECE, decode_content=True):
                held += piece
                if len(held) > _TAIL:
                    _write(descriptor, held[:-_TAIL])
                    held = held[-_TAIL:]
        except HTTPError as error:
            broken = error
        finally:
            self._response.close()
        mark = _MARK + self._tag
        at = held.rfind(mark) if self._tag else -1
        _write(descriptor, held if at < 0 else held[:at].removesuffix(b"\r\n"))
        if at >= 0:
            # Before the tag's second coming stands the length of the message, in a line of its own.
            message = held[at + len(mark) :].rpartition(b" " + self._tag)[0].rpartition(b"\n")[0]
            raise DatabaseError(
                message.decode(errors="replace").strip() or "the server ended the answer with an error"
            )
        if broken is not None:
            raise OperationalError(f"the answer broke off: {broken}") from broken

    def shut(self) -> None:
        """Let `write` end soon."""
        self._response.shutdown()


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
