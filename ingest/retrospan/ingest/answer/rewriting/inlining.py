"""Calls of views with parameters, answered by the SELECT behind the view.

The engine plans a view with parameters three to four times for one answer and evaluates what is fixed in it as often;
the same SELECT in its place it plans once. Measured: `provenance` of a recorded run 4.9 and 1.9 s of processor,
`run_diff` 1.2 and 0.8 s.

Only what cannot mean anything else is put in place: a SELECT without WITH, whose names could reach into the view's
statement, and a call whose every value is one literal or one `{name:Type}`. All else goes to the view itself.

A view is cut into tokens once, at its parameters; a value goes in between as the tokens that the reader wrote. Nothing
is ever looked for in what was put in, nor in the strings and comments of a view. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

from retrospan.ingest.answer.guard.allowlist import word_set
from retrospan.ingest.answer.guard.lexer import Token, tokens, written
from retrospan.queries import catalogue
from retrospan.queries.catalogue import View

#: Characters: the engine reads no longer statement than 262,144 bytes. Calls beyond it go to their views.
LONGEST_TEXT = 200_000

#: Calls of one statement whose rows may come as parameters.
MOST_PLACED = 4

#: What may follow a table in FROM and is not an alias.
CLAUSES = word_set(
    "final sample array left right inner full cross any all semi anti asof join prewhere where group having window "
    "qualify order limit offset settings format union except intersect on using global"
)


@dataclass(frozen=True, slots=True)
class PlacedCall:
    """A call whose rows are to be given as the parameter `parameter`; `values` are as they were written."""

    view: View
    parameter: str
    values: Mapping[str, str]


def inlined(sql: str) -> str:
    """Return the statement with its calls of views replaced by what the views select, where that is surely the same.

    `sql` is one that the guard let through. The text that is returned reads as the tokens it was made of.
    """
    return _rewritten(sql, lambda view, call: None)


def placed(sql: str, computed: Container[str]) -> tuple[str, list[PlacedCall]]:
    """Return the same, but with the rows of some views as parameters, and whose rows each parameter is to be."""
    calls: list[PlacedCall] = []

    def put(view: View, call: _Call) -> list[Token] | None:
        if view.name not in computed or len(calls) >= MOST_PLACED:
            return None
        parameter = f"rows_of_{view.name}_{len(calls) + 1}"
        calls.append(
            PlacedCall(view, parameter, {name: written(value) for name, value in call.given.items()})
        )
        columns = ", ".join(f"{column.name} {column.type}" for column in view.columns)
        names = ", ".join(f"row.{column.name} AS {column.name}" for column in view.columns)
        source = f"(SELECT arrayJoin({{{parameter}:Array(Tuple({columns}))}}) AS row)"
        return tokens(f"(SELECT {names} FROM {source})")

    text = _rewritten(sql, put)
    return text, calls


def _rewritten(sql: str, put: Callable[[View, _Call], list[Token] | None]) -> str:
    """Replace each call by what `put` returns for it, by the view's SELECT where that is None."""
    called = {view.name: view for view in catalogue.views() if view.parameters and view.name in sql}
    found = tokens(sql) if called else []
    words = [place for place, token in enumerate(found) if token.kind != "blank"]
    if not words or not found[words[0]].is_word("select") or any(token.is_word("with") for token in found):
        return sql
    pieces: list[Token] = []
    end, room = 0, LONGEST_TEXT - len(sql)
    for at, place in enumerate(words):
        view = called.get(found[place].value) if found[place].kind in ("word", "name") else None
        template = _template(view) if view is not None else None
        call = _call(found, words, at) if template is not None and place >= end else None
        if view is None or template is None or call is None:
            continue
        if call.given.keys() != {parameter.name for parameter in view.parameters}:
            continue
        instead = put(view, call)
        if instead is None and template.size > room:
            continue
        if instead is None:
            room -= template.size
            instead = template.filled(call.given)
        pieces += found[end:place]
        pieces += instead
        if not call.has_alias:
            pieces += tokens(f" AS {view.name}")
        end = call.end
    return written([*pieces, *found[end:]]) if pieces else sql


@cache
def own_functions() -> frozenset[str]:
    """Return the functions that views make for themselves (`x -> … AS name`), folded: called only in their text."""
    found: set[str] = set()
    for view in catalogue.views():
        words = [token for token in tokens(view.statement) if token.kind != "blank"]
        called = {
            token.folded for token, after in pairwise(words) if after.is_mark("(") and token.kind == "word"
        }
        named = {token.folded for before, token in pairwise(words) if before.is_word("as")}
        if any(token.is_mark("-") and after.is_mark(">") for token, after in pairwise(words)):
            found |= called & named
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Template:
    """A view's SELECT in brackets, cut at its parameters: between two pieces stands the parameter of that place."""

    pieces: tuple[tuple[Token, ...], ...]
    names: tuple[str, ...]
    types: tuple[str, ...]
    size: int
    """Characters, without the values."""

    def filled(self, given: Mapping[str, Sequence[Token]]) -> list[Token]:
        """Return the tokens with a value at each parameter's place, as the type of the parameter."""
        found = list(self.pieces[0])
        for name, kind, piece in zip(self.names, self.types, self.pieces[1:], strict=True):
            found += [*tokens("CAST("), *given[name], *tokens(f", '{kind}')"), *piece]
        return found


@lru_cache(maxsize=64)
def _template(view: View) -> _Template | None:
    """Return the view's statement cut at its parameters; None when it names one that its header does not."""
    types = {parameter.name: parameter.type for parameter in view.parameters}
    found = [shortened(token) for token in tokens(f"(\n{view.statement}\n)")]
    pieces: list[tuple[Token, ...]] = []
    names: list[str] = []
    begin = 0
    for place, token in enumerate(found):
        if not token.is_mark("{") or place < begin:
            continue
        end = next(at for at in range(place, len(found)) if found[at].is_mark("}"))
        name, _, kind = "".join(
            part.text for part in found[place + 1 : end] if part.kind != "blank"
        ).partition(":")
        if types.get(name) != kind:
            return None
        pieces.append(tuple(found[begin:place]))
        names.append(name)
        begin = end + 1
    pieces.append(tuple(found[begin:]))
    size = sum(len(token.text) for piece in pieces for token in piece) + 40 * len(names)
    return _Template(tuple(pieces), tuple(names), tuple(types[name] for name in names), size)


def is_alias(after: Token | None) -> bool:
    """Return whether what follows a table is a name for it, or AS and its name."""
    return after is not None and after.kind in ("word", "name") and after.folded not in CLAUSES


def shortened(token: Token) -> Token:
    """Blanks of one character: a comment has left as many as it was long."""
    if token.kind != "blank":
        return token
    return Token("blank", "\n" if "\n" in token.text else " ", " ", token.position)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call in FROM: its values as they are written, and the place after it."""

    given: Mapping[str, Sequence[Token]]
    end: int
    has_alias: bool


def _call(found: Sequence[Token], words: Sequence[int], at: int) -> _Call | None:
    """Return the call that begins at a view's name; None when it is not a call, or a value is more than one literal.

    `at` counts in `words`, the places of the tokens that are not blank.
    """

    def word(position: int) -> Token | None:
        return found[words[position]] if position < len(words) else None

    def is_mark(position: int, mark: str) -> bool:
        token = word(position)
        return token is not None and token.is_mark(mark)

    if at == 0 or not found[words[at - 1]].is_word("from") or not is_mark(at + 1, "("):
        return None
    given: dict[str, Sequence[Token]] = {}
    position = at + 2
    while (name := word(position)) is not None and name.kind == "word" and is_mark(position + 1, "="):
        value = [found[place] for place in words[position + 2 : position + 7]]
        if _is_placeholder(value):
            size = 5
        elif value and _is_literal(value[0]):
            size = 1
        else:
            return None
        if name.value in given:
            return None
        given[name.value] = value[:size]
        position += 2 + size
        if is_mark(position, ")"):
            return _Call(given, words[position] + 1, is_alias(word(position + 1)))
        if not is_mark(position, ","):
            return None
        position += 1
    return None


def _is_literal(value: Token) -> bool:
    # `1e5` and `0x1f` are numbers, `1abc` is a name: whole numbers are enough for what views take.
    return value.kind == "string" or (value.kind == "number" and value.text.isdecimal())


def _is_placeholder(value: Sequence[Token]) -> bool:
    """Return whether this is `{name:Type}` of a value. One of type Identifier would be a name inside the view."""
    return (
        len(value) == 5
        and value[0].is_mark("{")
        and value[1].kind == "word"
        and value[2].is_mark(":")
        and value[3].kind == "word"
        and value[3].folded != "identifier"
        and value[4].is_mark("}")
    )
