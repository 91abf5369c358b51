"""Makes every character of a text visible: control, invisible and direction-changing characters become escapes."""

from __future__ import annotations

import unicodedata

#: Control, format, surrogate, and the two line-breaking separators: they steer, hide or break text.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
#: Joiners build emoji and letters of many scripts; the others are format characters that are drawn.
_DRAWN = frozenset("\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8, as `surrogateescape` reads it
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def is_hidden(character: str) -> bool:
    """Return whether a character could steer a terminal or hide: control, bidi, invisible, half a surrogate."""
    return unicodedata.category(character) in _HIDDEN and character not in _DRAWN


def visible(text: str) -> str:
    """Return the text on one line, with every character that could steer or hide shown as its escape."""
    if text.isprintable():
        return text
    return "".join(_SHORT.get(c) or (_escape(c) if is_hidden(c) else c) for c in text)
