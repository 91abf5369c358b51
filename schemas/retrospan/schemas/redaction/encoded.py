"""Text in which characters are written as escapes: `sk%2D…`, `sk\\x2d…`, `sk&#45;…`, also twice over.

What rules find in the plain text is taken out of the text as it was sent: a place in the one is a place in the other.
"""

from __future__ import annotations

import re
from bisect import bisect_left

#: An escape of a visible ASCII character: others are part of no secret's form. One start per run of backslashes.
_ESCAPE = re.compile(
    r"%([2-7][0-9A-Fa-f])|(?<!\\)\\++(?:x|u00)([2-7][0-9A-Fa-f])|&#(?:[xX]0?([2-7][0-9A-Fa-f])|0?([0-9]{2,3}));"
)
#: The same in bytes, one kind after the other: each is looked for by its first character.
_IN_BYTES = (
    (b"%", re.compile(rb"%([2-7][0-9A-Fa-f])"), 16),
    (b"\\x", re.compile(rb"(?<!\\)\\++(?:x|u00)([2-7][0-9A-Fa-f])"), 16),
    (b"&#", re.compile(rb"&#[xX]0?([2-7][0-9A-Fa-f]);"), 16),
    (b"&#", re.compile(rb"&#0?([0-9]{2,3});"), 10),
)
MOST_LAYERS = 3


class Plain:
    """A text without its escapes. `place` says where a place in it was before."""

    def __init__(self, text: str) -> None:
        parts: list[str] = []
        self._at: list[int] = []
        self._shift = [0]
        copied = length = shift = 0
        for match in _ESCAPE.finditer(text):
            character = _character(match.group(1, 2, 3, 4))
            if character is None:
                continue
            parts += (text[copied : match.start()], character)
            length += match.start() - copied
            self._at.append(length)
            length += 1
            shift += match.end() - match.start() - 1
            self._shift.append(shift)
            copied = match.end()
        self.text = "".join(parts) + text[copied:] if parts else text

    def place(self, at: int) -> int:
        """Return where the character at a place began before; for the end of a range, where the range ended."""
        return at + self._shift[bisect_left(self._at, at)]


def _character(groups: tuple[str | None, ...]) -> str | None:
    percent, backslash, hexadecimal, decimal = groups
    code = int(decimal) if decimal else int(percent or backslash or hexadecimal or "0", 16)
    return chr(code) if 32 <= code < 127 else None


def plain_bytes(data: bytes) -> bytes:
    """Return the bytes without a layer of escapes at least; the same object where there are none."""
    for sign, escape, base in _IN_BYTES:
        if sign in data and escape.search(data):
            data = escape.sub(lambda match, base=base: _byte(match, base), data)  # type: ignore[misc]
    return data


def _byte(match: re.Match[bytes], base: int) -> bytes:
    code = int(match[1], base)
    return bytes((code,)) if 32 <= code < 127 else match[0]
