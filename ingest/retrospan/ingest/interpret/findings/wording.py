"""What calls look for, apart from how they say it: things (names, numbers, ids) and words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrospan.ingest.json_text import read_value

_TOKEN = re.compile(r"[^\s,;:!?()\[\]{}\"'“”]+")
_MARKED = re.compile(r"[\d@/\\_#=<>]|\w\.\w")
_FILLERS = frozenset(
    [
        "a",
        "an",
        "and",
        "any",
        "are",
        "at",
        "about",
        "by",
        "for",
        "from",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "no",
        "of",
        "on",
        "or",
        "our",
        "please",
        "the",
        "their",
        "to",
        "up",
        "was",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "with",
        "you",
        "your",
        "all",
        "get",
        "find",
        "search",
        "show",
        "list",
        "look",
        "query",
    ]
)
#: Words are compared by so many of their first letters, so that `refunds` is `refund`.
_STEM = 5
_ALIKE = 0.5
_MOST_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class Wording:
    """The arguments of one call: its words in order, those with a capital inside a sentence, and marked tokens."""

    words: tuple[str, ...]  # lower case, without fillers
    names: frozenset[str]  # lower case
    marked: frozenset[str]  # numbers, ids, addresses, paths


def wording_of(arguments: str | None) -> Wording | None:
    """Return the wording of a call's arguments (JSON); None if they are not known or too long to be a question."""
    if arguments is None or len(arguments) > _MOST_TEXT:
        return None
    words: list[str] = []
    names: set[str] = set()
    marked: set[str] = set()
    for leaf in _leaves(read_value(arguments)):
        if not isinstance(leaf, str):
            marked.add(str(leaf))
            continue
        tokens = [token.strip(".-") for token in _TOKEN.findall(leaf)]
        tokens = [token for token in tokens if token]
        title = len(tokens) > 1 and all(token[0].isupper() for token in tokens[1:])
        for place, token in enumerate(tokens):
            if _MARKED.search(token):
                marked.add(token.casefold())
                continue
            folded = token.casefold()
            if token[0].isupper() and (place or title) and folded not in _FILLERS:
                names.add(folded)
            if folded not in _FILLERS:
                words.append(folded)
    return Wording(tuple(words), frozenset(names), frozenset(marked))


def same_things(group: Sequence[Wording]) -> frozenset[str] | None:
    """Return the things that all of some calls look for; None if a later one looks for a thing that the first does not.

    A call of another thing is not the same question in other words: it is the next question of a list.
    """
    names = frozenset[str]().union(*(each.names for each in group))
    things = [each.marked | (names & frozenset(each.words)) for each in group]
    if any(each - things[0] for each in things[1:]):
        return None
    return things[0].intersection(*things[1:])


def is_reworded(one: Wording, other: Wording) -> bool:
    """Return whether two calls ask the same in other words: most words are the same, or one has more of them."""
    if not one.words or not other.words or is_substituted(one, other):
        return False
    first, second = _stems(one), _stems(other)
    common = len(first & second)
    return first <= second or second <= first or common / len(first | second) >= _ALIKE


def is_substituted(one: Wording, other: Wording) -> bool:
    """Return whether one differs from the other by what stands in a single place, as in `weather oslo`, `weather rome`."""
    if len(one.words) != len(other.words):
        return False
    return sum(a != b for a, b in zip(one.words, other.words, strict=True)) == 1


def _stems(wording: Wording) -> set[str]:
    return {word[:_STEM] for word in wording.words}


def _leaves(value: object) -> Iterator[str | int | float]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack += reversed(item.values())
        elif isinstance(item, list):
            stack += reversed(item)
        elif isinstance(item, str | int | float) and not isinstance(item, bool):
            yield item
