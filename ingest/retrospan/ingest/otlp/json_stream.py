"""JSON in pieces: a small value comes whole, a large one as an iterator over its members.

What is read at a time is a window of text, so that neither memory nor the interpreter's lock is taken for a whole
body at once. Small values are read by the standard library's scanner; only where a value is larger than the window
is it taken apart here, member by member.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from json import decoder
from typing import Any

from retrospan.ingest.otlp.pieces import Tally
from retrospan.schemas.errors import BadRequest

#: A value of more characters is taken apart.
WINDOW = 128 << 10
#: How deep values may be nested that are taken apart; smaller ones nest as deep as the scanner reads.
_DEEPEST = 100
#: So many characters for each object or list are usual; more of them than that are counted as parts.
_USUAL_CHARACTERS = 16
_LOOK = 256
_SPACE = re.compile(r"[ \t\n\r]*")
_TEXT = re.compile(r'(?:[^"\\\x00-\x1f]++|\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]))*+')
#: The first half of a pair, whose second half may come in the next window.
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_LONGEST_ESCAPE = 6
_scan_text: Any = decoder.scanstring  # type: ignore[attr-defined, unused-ignore]
_scan: Any = json.JSONDecoder().scan_once  # type: ignore[attr-defined, unused-ignore]


class Large:
    """A value that is larger than the window, or was asked for so. To be gone through at once, or skipped: nothing
    behind it can be read before.
    """

    __slots__ = ("_mark", "kind", "reader")

    def __init__(self, reader: Reader, kind: str) -> None:
        """`kind` is the character it begins with."""
        self.reader = reader
        self.kind = kind
        self._mark = reader.mark()

    def items(self, *, opened: str = "") -> Iterator[tuple[str, object]]:
        """Return the names and values of an object, as often as they come; the value of `opened` to be gone through."""
        return self.reader.items(opened)

    def elements(self, *, opened: bool = False) -> Iterator[object]:
        """Return what a list holds; its objects to be gone through if `opened`."""
        return self.reader.elements(opened)

    def text(self) -> Iterator[str]:
        """Return a string, part by part."""
        return self.reader.text()

    def skip(self) -> None:
        """Go behind it, from wherever in it one is."""
        self.reader.back_to(self._mark)
        if self.kind == "{":
            for item in self.items():
                skip(item[1])
        elif self.kind == "[":
            for value in self.elements():
                skip(value)
        else:
            for _ in self.text():
                pass


def skip(value: object) -> None:
    """Go behind a value that is not wanted."""
    if isinstance(value, Large):
        value.skip()


class Reader:
    """Reads one JSON document from bytes. Everything that is not JSON raises BadRequest."""

    def __init__(self, body: bytes, errors: str, tally: Tally) -> None:
        """`errors` is the handler of bytes that are not UTF-8; `tally` counts what is taken apart."""
        self._body = body
        self._errors = errors
        self._tally = tally
        self._next = 3 if body.startswith(b"\xef\xbb\xbf") else 0
        self._text = ""
        self._at = 0
        self._depth = 0

    def document(self) -> object:
        """Return the value of the whole, to be gone through."""
        return self.value(opened=True)

    def end(self) -> None:
        """Nothing may follow."""
        if self._peek():
            raise self._fault("something follows the end")

    def mark(self) -> tuple[int, str, int, int]:
        """Return where the reader is, for `back_to`."""
        return self._next, self._text, self._at, self._depth

    def back_to(self, mark: tuple[int, str, int, int]) -> None:
        self._next, self._text, self._at, self._depth = mark

    def value(self, *, opened: bool = False) -> object:
        """Return the next value, or a Large that stands for it; always that for an object or list if `opened`."""
        first = self._peek()
        if opened and first and first in "{[":
            return Large(self, first)
        while True:
            try:
                found, end = _scan(self._text, self._at)
            except RecursionError as cause:
                raise BadRequest("the JSON is nested too deeply to be read") from cause
            except (StopIteration, ValueError) as cause:
                if len(self._text) - self._at >= WINDOW:
                    if first and first in '{["':
                        return Large(self, first)
                    raise self._fault("a number or word that is too long") from cause
                if not self._more():
                    raise self._fault(
                        str(cause) if isinstance(cause, ValueError) else "a value is missing"
                    ) from cause
                continue
            # A number may go on behind the window.
            if end < len(self._text) or first in '{["' or not self._more():
                break
            if len(self._text) - self._at > 2 * WINDOW:
                raise self._fault("a number that is too long")
        if self._is_dense(end):
            brackets = self._text.count("{", self._at, end) + self._text.count("[", self._at, end)
            self._tally.take(max(0, brackets - (end - self._at) // _USUAL_CHARACTERS))
        self._at = end
        return found

    def items(self, opened: str) -> Iterator[tuple[str, object]]:
        self._enter()
        if self._peek() == "}":
            self._leave()
            return
        while True:
            name = self.value() if self._peek() == '"' else None
            if not isinstance(name, str):
                raise self._fault("a name is missing or too long")
            if self._peek() != ":":
                raise self._fault("a colon is missing")
            self._at += 1
            self._tally.take(1)
            yield name, self.value(opened=name == opened)
            if self._ends("}"):
                return

    def elements(self, opened: bool) -> Iterator[object]:
        self._enter()
        if self._peek() == "]":
            self._leave()
            return
        while True:
            self._tally.take(1)
            yield self.value(opened=opened)
            if self._ends("]"):
                return

    def text(self) -> Iterator[str]:
        self._at += 1
        while True:
            found = _TEXT.match(self._text, self._at)
            end = self._at if found is None else found.end()
            closed = self._text[end : end + 1] == '"'
            if not closed and len(self._text) - end > _LONGEST_ESCAPE:
                raise self._fault("a character that is not allowed in a string")
            part = self._text[self._at : end]
            if not closed and (half := _HALF.search(part)) is not None and _is_escape(part, half.start()):
                part = part[: half.start()]
            if part:
                yield _scan_text(part + '"', 0)[0]
            self._at += len(part)
            if closed:
                self._at += 1
                return
            if not self._more():
                raise self._fault("a string is not closed")

    def _is_dense(self, end: int) -> bool:
        """Whether a value seems to hold many objects and lists for its length, by a place of it drawn by lot: to count
        all would take longer than to read."""
        room = end - self._at - _LOOK
        at = self._at + (random.randrange(room) if room > 0 else 0)
        until = min(end, at + _LOOK)
        return (
            self._text.count("{", at, until) + self._text.count("[", at, until) > _LOOK // _USUAL_CHARACTERS
        )

    def _enter(self) -> None:
        self._at += 1
        self._depth += 1
        if self._depth > _DEEPEST:
            raise BadRequest("the JSON is nested too deeply to be read")

    def _leave(self) -> None:
        self._at += 1
        self._depth -= 1

    def _ends(self, bracket: str) -> bool:
        """Go behind a comma, or the bracket that ends it all."""
        found = self._peek()
        if found == bracket:
            self._leave()
            return True
        if found != ",":
            raise self._fault("a comma is missing")
        self._at += 1
        return False

    def _peek(self) -> str:
        """Return the next character that is not a space; '' at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            if match is not None:
                self._at = match.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _more(self) -> bool:
        """Let go of what is read, and add a window; whether there was anything left."""
        start, size = self._next, len(self._body)
        if start >= size:
            return False
        stop = min(size, start + WINDOW)
        for _ in range(3):
            # Not in the middle of a character.
            if stop < size and self._body[stop] & 0xC0 == 0x80:
                stop -= 1
        self._text = self._text[self._at :] + self._body[start:stop].decode(errors=self._errors)
        self._at, self._next = 0, stop
        return True

    def _fault(self, what: str) -> BadRequest:
        return BadRequest(f"the body is not JSON: {what}, before byte {self._next}")


def _is_escape(text: str, at: int) -> bool:
    """Return whether the backslash at `at` begins an escape, and is not itself escaped."""
    return (at - len(text[:at].rstrip("\\"))) % 2 == 0
