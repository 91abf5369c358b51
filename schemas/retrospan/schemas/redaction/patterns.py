"""Which regular expressions a rules file may hold: those that can be decided one character at a time.

Python's `re` backtracks, and some expressions make it run for years (`(a+)+$`). Here an expression is accepted if,
wherever there are two ways to continue, the next character decides: then backtracking never finds anything, and the
cost of a match is its length. A repeat without an upper bound must be the last part of the expression, so that nothing
after it can fail and the same text is not scanned again from the next start.

Accepted are characters, `.`, classes `[…]`, `\\d \\w \\s` and their opposites, groups, `|`, `? * + {m} {m,n}`, a
leading `(?i)`, `^` and `\\b` at the start, `$` and `\\b` at the end. Everything else is refused with its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

#: A set of characters as a bit mask: 128 for ASCII, and one for every other character.
OTHER = 1 << 128
ANY = (1 << 129) - 1
MOST_CHARACTERS = 1_000
UNBOUNDED = 1 << 30


class PatternRefused(ValueError):
    """The expression might backtrack, or uses what is not offered."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An expression that is safe to run, and a text that is part of everything it matches ('' if there is none)."""

    compiled: re.Pattern[str]
    literal: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """What is known of a part.

    `first`: the characters it may begin with. `cost`: how many characters it may walk before it fails. `text`: the
    one text it stands for, if it does. `open_set`: the characters with which it may still go on at its end.
    """

    first: int
    empty: bool = False
    cost: int = 1
    unbounded: bool = False
    text: str | None = None
    open_set: int = 0


@cache
def _named(letter: str) -> int:
    expressions = {"d": "[0-9]", "w": "[A-Za-z0-9_]", "s": r"[ \t\n\r\f\v]"}
    inside = sum(1 << code for code in range(128) if re.match(expressions[letter.lower()], chr(code)))
    return inside if letter.islower() else ANY & ~inside


def _bit(character: str) -> int:
    return 1 << ord(character) if ord(character) < 128 else OTHER


_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}


def accept(expression: str, *, ignore_case: bool = False) -> Accepted:
    """Check an expression and compile it. Raises PatternRefused with the reason and the place."""
    if len(expression) > MOST_CHARACTERS:
        raise PatternRefused(f"it is longer than {MOST_CHARACTERS} characters")
    body = expression
    if body.startswith("(?i)"):
        body, ignore_case = body[4:], True
    reader = _Reader(body, ignore_case)
    literal = reader.read()
    try:
        compiled = re.compile(body, re.ASCII | (re.IGNORECASE if ignore_case else 0))
    except (re.error, OverflowError) as error:
        raise PatternRefused(f"not a regular expression: {error}") from error
    if compiled.match(""):
        raise PatternRefused("it also matches the empty text")
    return Accepted(compiled, literal.lower())


class _Reader:
    """Reads an expression once: what follows a repeat decides whether the repeat can stand."""

    def __init__(self, text: str, ignore_case: bool) -> None:
        self._text = text
        self._at = 0
        self._ignore_case = ignore_case
        self._longest_literal = ""

    def read(self) -> str:
        if self._text.startswith("^"):
            self._at = 1
        elif self._text.startswith("\\b"):
            self._at = 2
        whole = self._alternatives(depth=0)
        if self._at < len(self._text):
            self._refuse("a closing bracket without an opening one")
        if whole.cost > MOST_CHARACTERS:
            self._refuse(f"it may scan {whole.cost} characters in vain, more than {MOST_CHARACTERS}")
        return self._longest_literal

    def _refuse(self, reason: str) -> NoReturn:
        raise PatternRefused(f"{reason} (at character {self._at + 1})")

    def _alternatives(self, depth: int) -> _Piece:
        if depth > 10:
            self._refuse("groups are nested too deeply")
        branches = [self._sequence(depth)]
        while self._peek() == "|":
            self._at += 1
            branches.append(self._sequence(depth))
        if len(branches) == 1:
            return branches[0]
        if depth == 0:
            self._longest_literal = ""
        self._decide_between(branches)
        first = 0
        for branch in branches:
            first |= branch.first
        return _Piece(
            first,
            any(branch.empty for branch in branches),
            max(branch.cost for branch in branches),
            any(branch.unbounded for branch in branches),
            None,
            self._open_of(branches),
        )

    @staticmethod
    def _open_of(branches: list[_Piece]) -> int:
        found = 0
        for branch in branches:
            found |= branch.open_set
        return found

    def _decide_between(self, branches: list[_Piece]) -> None:
        """One character, or one fixed text that does not begin another, must tell the branches apart."""
        if any(branch.empty for branch in branches):
            self._refuse("one of the alternatives may be empty; write it as (…)?")
        texts = [branch.text for branch in branches]
        known = [text.lower() if self._ignore_case else text for text in texts if text is not None]
        if len(known) == len(texts):
            for one in range(len(known)):
                for two in range(len(known)):
                    if one != two and known[two].startswith(known[one]):
                        self._refuse(f"{texts[one]!r} also begins another alternative")
            return
        seen = 0
        for branch in branches:
            if branch.first & seen:
                self._refuse("two alternatives may begin with the same character")
            seen |= branch.first

    def _sequence(self, depth: int) -> _Piece:
        pieces: list[_Piece] = []
        run = ""
        while (character := self._peek()) and character not in "|)":
            if self._is_last_anchor(depth):
                self._check_boundary(pieces)
                break
            piece, literal = self._repeated(depth)
            run = run + literal if literal else ""
            if depth == 0 and len(run) > len(self._longest_literal):
                self._longest_literal = run
            self._join(pieces, piece)
            pieces.append(piece)
        return self._joined(pieces)

    def _is_last_anchor(self, depth: int) -> bool:
        rest = self._text[self._at :]
        return depth == 0 and rest in ("$", "\\b")

    def _check_boundary(self, pieces: list[_Piece]) -> None:
        boundary = self._text[self._at :] == "\\b"
        if not boundary and any(piece.unbounded for piece in pieces):
            self._refuse("$ after a repeat without an upper bound; give one: {1,100}")
        self._at = len(self._text)
        if boundary and pieces and pieces[-1].open_set & ~_named("w"):
            self._refuse("\\b behind a repeat of anything but \\w may hold in several places")

    def _join(self, pieces: list[_Piece], piece: _Piece) -> None:
        """Refuse where what is open before `piece` may take what it begins with."""
        if any(earlier.unbounded for earlier in pieces):
            self._refuse("something follows a repeat without an upper bound; give one: {1,100}")
        for earlier in reversed(pieces):
            if earlier.open_set & piece.first:
                self._refuse("the part before may match the same characters: no character marks its end")
            if not earlier.empty:
                break

    @staticmethod
    def _joined(pieces: list[_Piece]) -> _Piece:
        first = 0
        for piece in pieces:
            first |= piece.first
            if not piece.empty:
                break
        still_open = 0
        for piece in reversed(pieces):
            still_open |= piece.open_set
            if not piece.empty:
                break
        texts = [piece.text for piece in pieces if piece.text is not None]
        return _Piece(
            first,
            all(piece.empty for piece in pieces),
            sum(piece.cost for piece in pieces),
            any(piece.unbounded for piece in pieces),
            "".join(texts) if len(texts) == len(pieces) else None,
            still_open,
        )

    def _repeated(self, depth: int) -> tuple[_Piece, str]:
        piece = self._atom(depth)
        low, high = self._bounds()
        if (low, high) == (1, 1):
            return piece, piece.text or ""
        if self._peek() and self._peek() in "?+":
            self._refuse("lazy and possessive repeats are not supported")
        if piece.empty:
            self._refuse("what is repeated may be empty")
        if high > 1 and piece.open_set & piece.first:
            self._refuse("a repeat in a repeat: no character marks where one ends and the next begins")
        if high > 1 and piece.unbounded:
            self._refuse("a repeat without an upper bound in a repeat")
        unbounded = high >= UNBOUNDED
        cost = piece.cost * (low + 1 if unbounded else high)
        open_set = piece.first | piece.open_set if low != high else piece.open_set
        return _Piece(piece.first, low == 0, cost, unbounded or piece.unbounded, None, open_set), ""

    def _bounds(self) -> tuple[int, int]:
        character = self._peek()
        simple = {"?": (0, 1), "*": (0, UNBOUNDED), "+": (1, UNBOUNDED)}
        if character in simple:
            self._at += 1
            return simple[character]
        match = re.compile(r"\{(\d{1,4})(,?)(\d{0,4})\}").match(self._text, self._at)
        if match is None:
            if character == "{":
                self._refuse("a brace that is not a repeat; write \\{")
            return 1, 1
        self._at = match.end()
        low = int(match[1])
        high = low if not match[2] else int(match[3]) if match[3] else UNBOUNDED
        if high < low or high == 0:
            self._refuse("an impossible repeat")
        return low, high

    def _atom(self, depth: int) -> _Piece:
        character = self._text[self._at]
        self._at += 1
        if character == "(":
            return self._group(depth)
        if character == "[":
            return _Piece(self._class())
        if character == ".":
            return _Piece(ANY & ~_bit("\n"))
        if character == "\\":
            escaped = self._escape()
            return _Piece(escaped) if isinstance(escaped, int) else self._literal(escaped)
        if character in "^$?*+":
            self._at -= 1
            self._refuse(f"{character!r} cannot stand here")
        return self._literal(character)

    def _literal(self, character: str) -> _Piece:
        return _Piece(self._cased(_bit(character)), text=character)

    def _cased(self, mask: int) -> int:
        if not self._ignore_case:
            return mask
        upper = sum(1 << code for code in range(65, 91))
        return mask | (mask & upper) << 32 | (mask & upper << 32) >> 32

    def _group(self, depth: int) -> _Piece:
        if self._text.startswith("?:", self._at):
            self._at += 2
        elif self._peek() == "?":
            self._refuse("only (…) and (?:…) are supported")
        inside = self._alternatives(depth + 1)
        if self._peek() != ")":
            self._refuse("a group that is not closed")
        self._at += 1
        return inside

    def _escape(self) -> int | str:
        character = self._peek()
        if not character:
            self._refuse("a backslash at the end")
        self._at += 1
        if character in "dwsDWS":
            return _named(character)
        if character in _ESCAPES:
            return _ESCAPES[character]
        if character.isalnum():
            self._at -= 1
            self._refuse(f"\\{character} is not supported here")
        return character

    def _class(self) -> int:
        inverted = self._peek() == "^"
        self._at += inverted
        mask = 0
        began = self._at
        while (character := self._peek()) != "]" or self._at == began:
            if not character:
                self._refuse("a class that is not closed")
            mask |= self._class_member()
        self._at += 1
        mask = self._cased(mask)
        return ANY & ~(mask & ~OTHER) if inverted else mask

    def _class_member(self) -> int:
        low = self._class_character()
        if (
            isinstance(low, int)
            or self._peek() != "-"
            or self._text[self._at + 1 : self._at + 2] in ("]", "")
        ):
            return low if isinstance(low, int) else _bit(low)
        self._at += 1
        high = self._class_character()
        if isinstance(high, int) or high < low:
            self._refuse("an invalid range")
        mask = sum(1 << code for code in range(ord(low), min(ord(high), 127) + 1))
        return mask | OTHER if ord(high) > 127 else mask

    def _class_character(self) -> int | str:
        character = self._text[self._at : self._at + 1]
        self._at += 1
        if (character == "[" and self._peek() in (":", "[")) or (
            character in "&~|-" and self._peek() == character
        ):
            self._refuse("a class in a class")
        return self._escape() if character == "\\" else character

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]
