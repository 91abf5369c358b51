"""Reads the text that JavaScript and Rust print for their objects: `{ role: 'user' }`, `Message { role: User }`.

Only what is whole is read, and only where every text stands in quotes with its own ones escaped: so nothing that somebody
said can be taken for a part of the object.
"""

from __future__ import annotations

import re

from retrospan.ingest.json_text import MAX_DEPTH, Unreadable

#: Longer text is left alone.
MAX_CHARS = 200_000
#: How such an object begins: a field without quotes, after brackets and the names of types.
_BEGINS = re.compile(r"\[?\s*+(?:[A-Z]\w*+(?:::\w++)*+\s*+\(?\s*+){0,4}\{\s*+[a-z_]\w*+:\s")
_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[A-Za-z_$][\w$]*(?:(?:::|\.)[A-Za-z_$][\w$]*)*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "v": "\v"}
_CONSTANTS = {"true": True, "false": False, "null": None, "undefined": None, "None": None}
#: What stands for what was left out.
_LEFT_OUT = ("Object", "Array", "Function", "Circular", "Getter", "Set", "Map")


class _Unfit(Exception):
    """The text is something else."""


def looks_printed(text: str) -> bool:
    """Tell whether a text begins as a printed object does."""
    return "{" in text[:60] and _BEGINS.match(text) is not None


def read_printed(text: str) -> object:
    """Return the value that the text spells, or Unreadable."""
    if len(text) > MAX_CHARS or not _BEGINS.match(text):
        return Unreadable("not a printed object")
    try:
        reading = _Reading(text)
        value = reading.value(0)
        reading.skip()
        if reading.at != len(text):
            return Unreadable("more than a printed object")
    except (_Unfit, ValueError, OverflowError):
        return Unreadable("not a printed object")
    return value


class _Reading:
    """A text, and how far it is read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    def skip(self) -> None:
        found = _SPACE.match(self._text, self.at)
        self.at = found.end() if found else self.at

    def value(self, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise _Unfit
        self.skip()
        mark = self._text[self.at : self.at + 1]
        if mark in ("'", '"', "`") and mark:
            return self._quoted(mark)
        if mark == "[":
            return self._items("]", depth)
        if mark == "{":
            return self._fields(depth)
        number = _NUMBER.match(self._text, self.at)
        if number is not None:
            self.at = number.end()
            return float(number[0]) if not number[0].lstrip("-").isdecimal() else int(number[0])
        return self._named(depth)

    def _named(self, depth: int) -> object:
        word = _WORD.match(self._text, self.at)
        if word is None:
            raise _Unfit
        self.at = word.end()
        if word[0] in _CONSTANTS:
            return _CONSTANTS[word[0]]
        self.skip()
        mark = self._text[self.at : self.at + 1]
        name = word[0].rpartition("::")[2]
        if mark == "{":
            return self._fields(depth)
        if mark == "(":
            held = self._items(")", depth)
            if len(held) != 1:
                raise _Unfit
            return _by_name(name, held[0])
        if not name[:1].isupper() or name in _LEFT_OUT:
            raise _Unfit
        return name  # the member of an enumeration

    def _items(self, end: str, depth: int) -> list[object]:
        self.at += 1
        found: list[object] = []
        while not self._ends(end):
            found.append(self.value(depth + 1))
            self._separate(end)
        return found

    def _fields(self, depth: int) -> dict[str, object]:
        self.at += 1
        found: dict[str, object] = {}
        while not self._ends("}"):
            mark = self._text[self.at : self.at + 1]
            if mark in ("'", '"'):
                key = self._quoted(mark)
            else:
                word = _WORD.match(self._text, self.at)
                if word is None:
                    raise _Unfit
                key, self.at = word[0], word.end()
            self.skip()
            if self._text[self.at : self.at + 1] != ":":
                raise _Unfit
            self.at += 1
            found[key] = self.value(depth + 1)
            self._separate("}")
        return found

    def _ends(self, end: str) -> bool:
        self.skip()
        if self.at >= len(self._text):
            raise _Unfit
        if self._text[self.at] != end:
            return False
        self.at += 1
        return True

    def _separate(self, end: str) -> None:
        self.skip()
        mark = self._text[self.at : self.at + 1]
        if mark == ",":
            self.at += 1
        elif mark != end:
            raise _Unfit

    def _quoted(self, quote: str) -> str:
        found: list[str] = []
        at = self.at + 1
        while at < len(self._text):
            mark = self._text[at]
            if mark == quote:
                self.at = at + 1
                return "".join(found)
            if mark == "\\":
                at += 1
                said, at = self._escaped(at)
                found.append(said)
            else:
                found.append(mark)
                at += 1
        raise _Unfit

    def _escaped(self, at: int) -> tuple[str, int]:
        mark = self._text[at : at + 1]
        if mark == "x":
            return chr(int(self._text[at + 1 : at + 3], 16)), at + 3
        if mark == "u" and self._text[at + 1 : at + 2] == "{":
            end = self._text.index("}", at)
            return chr(int(self._text[at + 2 : end], 16)), end + 1
        if mark == "u":
            return chr(int(self._text[at + 1 : at + 5], 16)), at + 5
        return _ESCAPES.get(mark, mark), at + 1


def _by_name(name: str, held: object) -> object:
    """Return what a variant of an enumeration holds, with who speaks where its name says that."""
    if (
        name.lower() in ("system", "user", "assistant", "tool")
        and isinstance(held, dict)
        and "role" not in held
    ):
        return {"role": name.lower(), **held}
    return held
