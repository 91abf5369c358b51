"""What calls look for, apart from how they say it: things (names, numbers, ids) and words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrospan.ingest.json_text import read_value

_TOKEN = re.compile(r"[^\s,;:!?()\[\]{}\"'“”]+")
_MARKED = re.compile(r"[\d@/\\_#=<>]|\w\.\w")
_PART = re.compile(r"[^\W_]+")
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


Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wording:
    """The arguments of one call: its words in order, those with a capital inside a sentence, ids and numbers."""

    words: Words  # lower case, without fillers
    names: frozenset[str]  # lower case
    marked: frozenset[str]  # the parts of ids, addresses and paths: `zeta-9` is zeta and 9
    numbers: frozenset[str]  # values that are not texts


@dataclass(frozen=True, slots=True)
class Question:
    """What several calls ask about: the things that all of them name, and the words of each besides."""

    topic: frozenset[str]
    words: tuple[Words, ...]


def wording_of(arguments: str | None) -> Wording | None:
    """Return the wording of a call's arguments (JSON); None if they are not known or too long to be a question."""
    if arguments is None or len(arguments) > _MOST_TEXT:
        return None
    words: list[str] = []
    names: set[str] = set()
    marked: set[str] = set()
    numbers: set[str] = set()
    for leaf in _leaves(read_value(arguments)):
        if not isinstance(leaf, str):
            numbers.add(str(leaf))
            continue
        tokens = [token.strip(".-") for token in _TOKEN.findall(leaf)]
        tokens = [token for token in tokens if token]
        title = len(tokens) > 1 and all(token[0].isupper() for token in tokens[1:])
        for place, token in enumerate(tokens):
            folded = token.casefold()
            if _MARKED.search(token):
                marked.update(_PART.findall(folded))
                continue
            if token[0].isupper() and (place or title) and folded not in _FILLERS:
                names.add(folded)
            if folded not in _FILLERS:
                words.append(folded)
    return Wording(tuple(words), frozenset(names), frozenset(marked), frozenset(numbers))


def question_of(group: Sequence[Wording]) -> Question | None:
    """Return what all of some calls ask about; None if a later one names a thing that the first does not.

    A call of another thing is not the same question in other words: it is the next question of a list.
    """
    known = frozenset[str]().union(*(each.names | each.marked for each in group))
    things = [each.marked | (known & frozenset(each.words)) for each in group]
    if any(each - things[0] for each in things) or any(each.numbers - group[0].numbers for each in group):
        return None
    words = tuple(tuple(word for word in each.words if word not in known) for each in group)
    return Question(things[0].intersection(*things), words)


def is_reworded(one: Words, other: Words) -> bool:
    """Return whether two calls ask the same in other words: most words are the same, or one has more of them."""
    if not one or not other or is_substituted(one, other):
        return False
    first, second = {word[:_STEM] for word in one}, {word[:_STEM] for word in other}
    return first <= second or second <= first or len(first & second) / len(first | second) >= _ALIKE


def is_substituted(one: Words, other: Words) -> bool:
    """Return whether one differs from the other by what stands in a single place, as in `weather oslo`, `weather rome`."""
    return len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) == 1


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
