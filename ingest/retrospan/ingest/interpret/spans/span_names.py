"""What the names of a span's attributes tell, whatever their values. The spans of one kind have the same names: what these
tell is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from retrospan.ingest.interpret.spans.name_words import means_itself, prefix_of, words_of
from retrospan.ingest.interpret.spans.span import Attributes

#: Lists of names kept, and how long one that is kept can be in characters: of indexed messages no two are alike.
_KEPT, _LONGEST = 1_024, 4_096


class SpanNames:
    """The names of some attributes; `listed` are all of them, a newline before each: to be searched for a part of one."""

    def __init__(self, listed: str, names: tuple[str, ...]) -> None:
        self.listed = listed
        self._names = names
        self._indexed: frozenset[str] | None = None
        self._worded: dict[str, list[str]] | None = None
        #: Whether there is a name that is not one of the GenAI conventions.
        self.has_own = not all(map(means_itself, names))

    @property
    def indexed(self) -> frozenset[str]:
        """The prefixes under which there are names with a number."""
        if self._indexed is None:
            self._indexed = frozenset(filter(None, map(prefix_of, self._names)))
        return self._indexed

    @property
    def worded(self) -> Mapping[str, list[str]]:
        """The names by what their words say, in order."""
        if self._worded is None:
            self._worded = {}
            for name in self._names:
                for words in words_of(name):
                    self._worded.setdefault(words, []).append(name)
        return self._worded


def names_of(attributes: Attributes) -> SpanNames:
    """Return what the names of some attributes tell."""
    listed = "\n" + "\n".join(attributes)
    return (_remembered if len(listed) <= _LONGEST else SpanNames)(listed, tuple(attributes))


_remembered = lru_cache(_KEPT)(SpanNames)
