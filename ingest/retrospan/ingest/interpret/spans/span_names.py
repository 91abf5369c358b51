"""What the names of a span's attributes tell, whatever their values. The spans of one kind have the same names: what these
tell is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from retrospan.ingest.interpret.spans.name_words import WORDS, means_itself, prefix_of, words_of
from retrospan.ingest.interpret.spans.span import Attributes, Span

#: Lists of names kept. Of more names than that few are: of indexed messages no two are alike, but each is asked for again.
_KEPT, _MOST, _LONG_KEPT = 1_024, 100, 32
#: Characters of all names together. Longer ones nobody writes by hand, and a flood of them would fill the memory.
_LONGEST, _LONG_LONGEST = 8_192, 131_072


class SpanNames:
    """The names of some attributes; `listed` are all of them, a newline before each: to be searched for a part of one."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.listed = "\n" + "\n".join(names)
        self.all = names
        #: Whether what they tell may be remembered beyond the span.
        self.is_short = len(self.listed) <= (_LONGEST if len(names) <= _MOST else _LONG_LONGEST)
        self._each = frozenset(names)
        self._indexed: frozenset[str] | None = None
        self._worded: dict[str, list[str]] | None = None
        self._saying: dict[str, tuple[str, ...]] = {}
        self._among: dict[frozenset[str], tuple[str, ...]] = {}
        self._under: dict[str, tuple[tuple[str, str], ...]] = {}
        self._under_any: dict[tuple[str, ...], tuple[tuple[str, str], ...]] = {}
        self._matching: dict[re.Pattern[str], tuple[str, ...]] = {}
        #: What was asked of `having`; None where it is not remembered, for other spans hardly have the same names.
        self.had: dict[tuple[str, ...], tuple[str, ...]] | None = {} if len(names) <= _MOST else None
        #: Whether there is a name that is not one of the GenAI conventions.
        self.has_own = not all(map(means_itself, names))

    @property
    def indexed(self) -> frozenset[str]:
        """The prefixes under which there are names with a number."""
        if self._indexed is None:
            self._indexed = frozenset(filter(None, map(prefix_of, self.all)))
        return self._indexed

    @property
    def worded(self) -> Mapping[str, list[str]]:
        """The names by what their words say, in order."""
        if self._worded is None:
            self._worded = {}
            for name in self.all:
                for words in words_of(name):
                    self._worded.setdefault(words, []).append(name)
        return self._worded

    def saying(self, shape: str) -> tuple[str, ...]:
        """Return the names whose words say what a shape stands for, the most telling words first."""
        found = self._saying.get(shape)
        if found is None:
            words = (each for each, part in WORDS[shape] if part in self.listed)
            found = self._saying[shape] = tuple(name for each in words for name in self.worded.get(each, ()))
        return found

    def having(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of some keys that are among the names, or stand for a shape, in their order."""
        found = tuple(key for key in keys if key in self._each or key[:1] == "*")
        if self.had is not None:
            self.had[keys] = found
        return found

    def matching(self, pattern: re.Pattern[str]) -> tuple[str, ...]:
        """Return the names in which a pattern is found, in order."""
        found = self._matching.get(pattern)
        if found is None:
            found = self._matching[pattern] = tuple(filter(pattern.search, self.all))
        return found

    def under(self, prefix: str) -> tuple[tuple[str, str], ...]:
        """Return the names that begin so, each after its rest, in order."""
        found = self._under.get(prefix)
        if found is None:
            size = len(prefix)
            names = self.all if f"\n{prefix}" in self.listed else ()
            found = tuple((name[size:], name) for name in names if name.startswith(prefix))
            self._under[prefix] = found
        return found

    def under_any(self, prefixes: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Return what `under` does of several, one after the other."""
        found = self._under_any.get(prefixes)
        if found is None:
            found = self._under_any[prefixes] = tuple(each for one in prefixes for each in self.under(one))
        return found

    def among(self, known: frozenset[str]) -> tuple[str, ...]:
        """Return the names that are among some known ones, sorted."""
        found = self._among.get(known)
        if found is None:
            found = self._among[known] = tuple(sorted(known & self._each))
        return found


def names_of(attributes: Attributes) -> SpanNames:
    """Return what the names of some attributes tell."""
    return _known(tuple(attributes))


def names_of_span(span: Span) -> SpanNames:
    """Return what the names of a span's own attributes tell; asked again, as it is some times, that is quicker."""
    names, known = tuple(span.attributes), span.called
    if isinstance(known, SpanNames) and known.all == names:
        return known
    found = _known(names)
    span.called = found
    return found


def _known(names: tuple[str, ...]) -> SpanNames:
    size = sum(map(len, names))
    if len(names) <= _MOST:
        return _remembered(names) if size <= _LONGEST else SpanNames(names)
    return _long_remembered(names) if size <= _LONG_LONGEST else SpanNames(names)


_remembered, _long_remembered = lru_cache(_KEPT)(SpanNames), lru_cache(_LONG_KEPT)(SpanNames)
