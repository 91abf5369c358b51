"""Text of which every character shows: what steers a terminal, hides or turns the direction becomes its escape."""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
#: Joiners build emoji and letters of many scripts.
_DRAWN = frozenset("\u200c\u200d")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def visible(text: str) -> str:
    """Return the text on one line."""
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    if unicodedata.category(character) not in _HIDDEN or character in _DRAWN:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
