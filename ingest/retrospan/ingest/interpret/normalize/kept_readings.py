"""What the spans of one trace were read to say, kept while the trace goes on: a span that did not change is not read again.

A reading is a function of the span alone, so one is kept with the span that it is of, and serves for an equal span only:
a corrected span, one log record more, or an answer that came late is read anew. What spans say beside each other is never
kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from sys import getsizeof

from retrospan.ingest.interpret.messages.message_cache import PrefixCache
from retrospan.ingest.interpret.normalize.general import read_span
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, ParseIssues
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.vocabulary import Vocabulary

#: About what a span takes in memory beside its texts, in bytes.
SPAN_BYTES = 4_000


class SpanReader:
    """Reads the spans of a trace by the general rules, one by one; histories that repeat each other are read once."""

    def __init__(self) -> None:
        self.growing = PrefixCache()
        self.known = 0
        """How many spans were known when they were to be read, since the caller last set this to 0."""

    def read(
        self, sent: Span, problems: ParseIssues, names: Vocabulary, operation: str | None = None
    ) -> NormalizedSpan:
        """Return what `read_span` does; the caller may change it."""
        return read_span(sent, problems, self.growing, names, operation)


@dataclass(slots=True)
class _Reading:
    """A span as it was read, for each operation that it was taken for, and what of it could not be read."""

    sent: Span
    names: Vocabulary
    found: dict[str | None, tuple[NormalizedSpan, list[ParseIssue]]]
    size: int


class KeptReadings(SpanReader):
    """The same, and what was read before is known. Of one trace, and of one thread."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0
        """About how many bytes of memory all this takes."""
        self._kept: dict[str, _Reading] = {}

    def read(
        self, sent: Span, problems: ParseIssues, names: Vocabulary, operation: str | None = None
    ) -> NormalizedSpan:
        kept = self._kept.get(sent.span_id)
        if kept is None or kept.names is not names or kept.sent != sent:
            if operation is not None:
                # With log records of other spans, which were found to be its own: it comes as it was sent as well.
                return read_span(sent, problems, self.growing, names, operation)
            kept = self._keep(sent, names)
        elif operation is None:
            self.known += 1
        found = kept.found.get(operation)
        if found is None:
            issues = ParseIssues()
            read = read_span(sent, issues, self.growing, names, operation)
            found = kept.found[operation] = (_apart(read, kept.sent), [*issues.found])
        problems.found.update(dict.fromkeys(found[1]))
        return _apart(found[0], sent)

    def _keep(self, sent: Span, names: Vocabulary) -> _Reading:
        before = self._kept.get(sent.span_id)
        size = SPAN_BYTES + _size_of(sent)
        self.size += size - (before.size if before is not None else 0)
        # A copy: spans are given log records of their trace after they were decoded.
        kept = replace(sent, logs=[*sent.logs], loose=[*sent.loose], strays=[*sent.strays])
        reading = self._kept[sent.span_id] = _Reading(kept, names, {}, size)
        return reading

    def keep_only(self, spans: Sequence[Span]) -> None:
        """Forget the spans that are not among these."""
        if len(self._kept) > len(spans):
            there = {span.span_id for span in spans}
            for span_id in [span_id for span_id in self._kept if span_id not in there]:
                self.size -= self._kept.pop(span_id).size


def _apart(read: NormalizedSpan, sent: Span) -> NormalizedSpan:
    """Return a copy, as of a span that is equal, that can be changed; messages and values in it are shared: nobody
    changes these."""
    copy = read.copy()
    copy.sent = sent
    copy.parameters = {**read.parameters}
    copy.system = [*read.system]
    copy.input = [*read.input]
    copy.output = [*read.output]
    copy.finish_reasons = [*read.finish_reasons]
    copy.tokens = replace(read.tokens, modal={**read.tokens.modal})
    return copy


def _size_of(sent: Span) -> int:
    """Return about how many bytes the texts of a span take, twice: as they were sent and as they were read."""
    places = [sent.attributes, *(event.attributes for event in sent.events)]
    for records in (sent.logs, sent.loose, sent.strays):
        places += [record.attributes for record in records]
        places += [{"": record.body} for record in records]
    return 2 * sum(_weight(value) for place in places for value in place.values())


def _weight(value: object) -> int:
    if isinstance(value, dict):
        return getsizeof(value) + sum(map(_weight, value.values()))
    if isinstance(value, list):
        return getsizeof(value) + sum(map(_weight, value))
    return getsizeof(value)
