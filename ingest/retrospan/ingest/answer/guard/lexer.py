"""The words of a ClickHouse statement, so that the guard judges what the engine will read.

`tokens()` never guesses: what it does not know it refuses. The guard executes the tokens, not the text, so
a difference between this lexer and the engine's over comments, heredocs or blanks cannot hide anything:
comments become blanks of the same length and heredocs become quoted strings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

from retrospan.schemas.errors import SqlError

Kind = Literal["word", "name", "string", "number", "mark", "blank"]
SYNTAX_ERROR = 62

_BLANKS = re.compile(r"\s+")
#: As in the engine, `$` may stand within a word: `a$b$` is one, and begins no heredoc.
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_NUMBER = re.compile(r"[0-9][A-Za-z0-9_]*")
_HEREDOC = re.compile(r"\$[A-Za-z0-9_]*\$")
#: What names a parameter, `{$x:String}`, may begin so, where it begins no heredoc that is closed.
_DOLLAR_WORD = re.compile(r"\$[A-Za-z0-9_$]+")
_MARKS = frozenset("()[]{},.:;+-*/%=<>!|?^&@~")
#: Most tokens, each told by its first character alone: all but quotations, and what a comment or a heredoc may begin with.
_PLAIN = re.compile(
    r"(?P<blank>[\n\t ]+(?!\s))|(?P<word>[A-Za-z_][A-Za-z0-9_$]*)|(?P<number>[0-9][A-Za-z0-9_]*)"
    r"|(?P<mark>[()\[\]{},.:;+*%=<>!|?^&@~])"
)
_LINE_COMMENTS = ("--", "//", "# ", "#!")


class Token(NamedTuple):
    """One token. `text` is what is executed; `value` what it names: unquoted for names and strings."""

    kind: Kind
    text: str
    value: str
    position: int

    @property
    def folded(self) -> str:
        """The name without case; '' for whatever is not a name."""
        return self.value.casefold() if self.kind in ("word", "name") else ""

    def is_word(self, *words: str) -> bool:
        """Return whether this is one of these keywords (lower case), unquoted."""
        return self.kind == "word" and self.folded in words

    def is_mark(self, mark: str) -> bool:
        """Return whether this is this punctuation character."""
        return self.kind == "mark" and self.text == mark


def where(text: str, position: int) -> str:
    """`line 2 column 7` of a position in the text."""
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return f"line {line} column {column}"


def quoted(value: str) -> str:
    """Return the value as a ClickHouse string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def tokens(text: str) -> list[Token]:
    """Cut the statement into tokens, blanks included: joining their `text` gives the statement to execute.

    Raises:
        SqlError: something is not closed, or a character has no meaning outside quotes.
    """
    found: list[Token] = []
    position, end = 0, len(text)
    while position < end:
        if plain := _PLAIN.match(text, position):
            found.append(_plain(cast("Kind", plain.lastgroup), plain[0], position))
            position = plain.end()
        else:
            token, position = _next(text, position)
            found.append(token)
    return found


def written(found: Sequence[Token]) -> str:
    """Return the tokens as the text that is executed, which was read again: it has these tokens and no others.

    Raises:
        SqlError: side by side some of them read otherwise, as two strings do that touch.
    """
    text = "".join(token.text for token in found)
    again = [(token.kind, token.text) for token in tokens(text) if token.kind != "blank"]
    if again != [(token.kind, token.text) for token in found if token.kind != "blank"]:
        raise SqlError("two words or strings touch. Put a space between them.", code=SYNTAX_ERROR)
    return text


def _next(text: str, start: int) -> tuple[Token, int]:
    char = text[start]
    if char == "\0":
        raise SqlError(f"SQL, {where(text, start)}: a NUL character. Remove it.", code=SYNTAX_ERROR)
    if blank := _BLANKS.match(text, start):
        # Blanks of other scripts, as pasted text has them, become ASCII ones.
        return _plain("blank", "".join(c if c in "\n\t " else " " for c in blank[0]), start), blank.end()
    if (end := _comment_end(text, start)) is not None:
        kept = "".join("\n" if c == "\n" else " " for c in text[start:end])
        return _plain("blank", kept or " ", start), end
    if word := _WORD.match(text, start):
        return _plain("word", word[0], start), word.end()
    if number := _NUMBER.match(text, start):
        return _plain("number", number[0], start), number.end()
    if char in "'\"`":
        return _quotation(text, start)
    if heredoc := _HEREDOC.match(text, start):
        end = text.find(heredoc[0], heredoc.end())
        if end < 0 and (named := _named_after_brace(text, start)):
            return named
        if end < 0:
            raise SqlError(f"SQL, {where(text, start)}: {heredoc[0]} is not closed.", code=SYNTAX_ERROR)
        value = _without_nul(text, heredoc.end(), end)
        return Token("string", quoted(value), value, start), end + len(heredoc[0])
    if char in _MARKS:
        return _plain("mark", char, start), start + 1
    if named := _named_after_brace(text, start):
        return named
    raise SqlError(
        f"SQL, {where(text, start)}: {char!r} has no meaning outside quotes. "
        "Write strings in '…' and unusual names in `…`.",
        code=SYNTAX_ERROR,
    )


def _named_after_brace(text: str, start: int) -> tuple[Token, int] | None:
    """Return the name of a parameter that begins with `$`; None where no parameter is named."""
    word = _DOLLAR_WORD.match(text, start) if text[start - 1 : start] == "{" else None
    return (_plain("word", word[0], start), word.end()) if word else None


def _plain(kind: Kind, text: str, position: int) -> Token:
    return Token(kind, text, text, position)


def _comment_end(text: str, start: int) -> int | None:
    """Return where the comment at this place ends; None when none begins here."""
    if text.startswith(_LINE_COMMENTS, start) or (text[start] == "#" and start == len(text) - 1):
        end = text.find("\n", start)
        return len(text) if end < 0 else end
    if not text.startswith("/*", start):
        return None
    depth, position = 0, start
    while position < len(text):
        if text.startswith("/*", position):
            depth, position = depth + 1, position + 2
        elif text.startswith("*/", position):
            depth, position = depth - 1, position + 2
            if depth == 0:
                return position
        else:
            position += 1
    raise SqlError(f"SQL, {where(text, start)}: the comment is not closed.", code=SYNTAX_ERROR)


def _quotation(text: str, start: int) -> tuple[Token, int]:
    """Return a string or quoted name. A quote inside is doubled or has a backslash before it."""
    quote = text[start]
    position = start + 1
    while position < len(text):
        if text[position] == "\\":
            position += 2
        elif text[position] != quote:
            position += 1
        elif text.startswith(quote, position + 1):
            position += 2
        else:
            break
    if position >= len(text):
        raise SqlError(f"SQL, {where(text, start)}: {quote} is not closed.", code=SYNTAX_ERROR)
    body = _without_nul(text, start + 1, position)
    whole = text[start : position + 1]
    if quote == "'":
        return Token("string", whole, body, start), position + 1
    if "\\" in body:
        # `\x74` in a name would let a name be spelled in ways the guard does not compare.
        raise SqlError(
            f"SQL, {where(text, start)}: a quoted name may not contain a backslash.", code=SYNTAX_ERROR
        )
    return Token("name", whole, body.replace(quote * 2, quote), start), position + 1


def _without_nul(text: str, start: int, end: int) -> str:
    body = text[start:end]
    if "\0" in body:
        raise SqlError(f"SQL, {where(text, start)}: a NUL character in quotes. Remove it.", code=SYNTAX_ERROR)
    return body
