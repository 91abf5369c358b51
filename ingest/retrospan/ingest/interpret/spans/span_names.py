"""What the names of a span's attributes tell, whatever their values. The spans of one kind have the same names: what these
tell is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache

from retrospan.ingest.interpret.spans.name_words import means_itself, prefix_of, words_of
from retrospan.ingest.interpret.spans.span import Attributes

#: Lists of names kept, and how long one that is kept can be in characters: of indexed messages no two are alike.
_KEPT, _LONGEST = 1_024, 4_096


class SpanNames:
    """The names of some attributes; `listed` are all of them, a newline before each: to be searched for a part of one."""

    def __init__(self, listed: str, names: tuple[str, ...]) -> None:
        self.listed = listed
        self._names = names

    @cached_property
    def indexed(self) -> frozenset[str]:
        """The prefixes under which there are names with a number."""
        return frozenset(filter(None, map(prefix_of, self._names)))

    @cached_property
    def worded(self) -> Mapping[str, list[str]]:
        """The names by what their words say, in order."""
        found: dict[str, list[str]] = {}
        for name in self._names:
            for words in words_of(name):
                found.setdefault(words, []).append(name)
        return found

    @cached_property
    def has_own(self) -> bool:
        """Whether there is a name that is not one of the GenAI conventions."""
        return not all(map(means_itself, self._names))


def names_of(attributes: Attributes) -> SpanNames:
    """Return what the names of some attributes tell."""
    listed = "\n" + "\n".join(attributes)
    return (_remembered if len(listed) <= _LONGEST else SpanNames)(listed, tuple(attributes))


_remembered = lru_cache(_KEPT)(SpanNames)
