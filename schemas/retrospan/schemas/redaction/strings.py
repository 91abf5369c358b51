"""Strings as JSON writes them, whole or cut off."""

from __future__ import annotations

import json
import re

_QUOTE_OR_ESCAPE = re.compile(r'["\\]')
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.)|\Z)", re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def string_at(text: str, start: int) -> tuple[str, int]:
    """Return the value of the string whose quote is at `start`, and where it ends: with the text, if cut off."""
    at = start + 1
    escapes = False
    while mark := _QUOTE_OR_ESCAPE.search(text, at):
        if mark[0] == '"':
            break
        escapes = True
        at = mark.end() + 1
    content, end = (text[start + 1 : mark.start()], mark.end()) if mark else (text[start + 1 :], len(text))
    if not escapes:
        return content, end
    try:
        value: str = json.loads(f'"{content}"', strict=False)
    except ValueError:
        value = _ESCAPE.sub(_unescaped, content)
    return value, end


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    letter: str = match[2] or ""
    return _LETTERS.get(letter, letter)


def skip_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
