"""The framing of requests: stricter than h11, which tolerates what proxies may read in two ways.

Where a proxy and this server disagree about where a request ends, one client's bytes become another's request. So
nothing is guessed: a line ends in CR LF, a length is given once and in one way, no header continues on the next line.
"""

from __future__ import annotations

from collections.abc import Callable

import h11
from h11._receivebuffer import ReceiveBuffer

MOST_HEADERS = 100
_LONGEST_CHUNK_LINE = 256
_MOST_CHUNK_DIGITS = 16
_BLANK = b"\r\n\r\n"


class StrictBuffer(ReceiveBuffer):
    """What h11 takes lines from. Raises h11.RemoteProtocolError for a frame that may be read in two ways."""

    def __init__(self, admits: Callable[[int, int], bool]) -> None:
        """`admits` says whether the first line of a request, and its headers, may be so long."""
        super().__init__()
        self._admits = admits
        self.refused_size = False
        """Whether a head was too long."""
        self._looked_at = 0

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the lines of a head, or of the trailers after the last chunk, once they are all there."""
        if self._data[:2] == b"\r\n":
            return super().maybe_extract_lines()
        end = self._data.find(_BLANK, max(0, self._looked_at - len(_BLANK)))
        size = end + len(_BLANK) if end >= 0 else len(self._data)
        first = self._data.find(b"\r\n", 0, size)
        line = size if first < 0 else first
        if not self._admits(line, size - line):
            self.refused_size = True
            raise h11.RemoteProtocolError("the headers are too long", error_status_hint=431)
        if has_bare_newline(self._data, max(0, self._looked_at - 1), size):
            raise h11.RemoteProtocolError("a line ends without CR")
        self._looked_at = 0 if end >= 0 else size
        if end < 0:
            return None
        lines = super().maybe_extract_lines()
        if lines is not None:
            _check(lines)
        return lines

    def maybe_extract_next_line(self) -> bytearray | None:
        """Return the line before a chunk."""
        line = super().maybe_extract_next_line()
        if len(self._data if line is None else line) > _LONGEST_CHUNK_LINE and (
            line is not None or b"\r\n" not in self._data[: _LONGEST_CHUNK_LINE + 2]
        ):
            raise h11.RemoteProtocolError("the line before a chunk is too long")
        if line is not None:
            digits = line[:-2].partition(b";")[0]
            if len(digits) > _MOST_CHUNK_DIGITS or any(byte < 0x20 for byte in line[:-2]):
                raise h11.RemoteProtocolError("the line before a chunk is invalid")
        return line


def has_bare_newline(data: bytearray, start: int, end: int) -> bool:
    """Return whether a LF stands between these places without a CR before it."""
    at = data.find(b"\n", start, end)
    while at >= 0:
        if at == 0 or data[at - 1] != 0x0D:
            return True
        at = data.find(b"\n", at + 1, end)
    return False


def _check(lines: list[bytearray]) -> None:
    """Refuse a length that is given twice, or in two ways, and a line that goes on in the next."""
    if len(lines) > MOST_HEADERS + 1:
        raise h11.RemoteProtocolError("there are too many headers", error_status_hint=431)
    if any(line.startswith((b" ", b"\t")) for line in lines):
        raise h11.RemoteProtocolError("a header continues on the next line")
    names = [bytes(line.partition(b":")[0]).lower() for line in lines]
    lengths = [bytes(line) for name, line in zip(names, lines, strict=True) if name == b"content-length"]
    codings = names.count(b"transfer-encoding")
    if len(lengths) > 1 or any(b"," in line for line in lengths):
        raise h11.RemoteProtocolError("there is more than one Content-Length")
    if codings and lengths:
        raise h11.RemoteProtocolError("there are both Content-Length and Transfer-Encoding")
    if codings and lines[0].endswith(b"HTTP/1.0"):
        raise h11.RemoteProtocolError("HTTP/1.0 does not have Transfer-Encoding")
