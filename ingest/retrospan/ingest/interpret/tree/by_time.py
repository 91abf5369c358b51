"""Spans by when they began, to find those that ran while another did without looking at all of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan


class ByTime:
    """Some spans, in the order in which they began."""

    def __init__(self, spans: Iterable[NormalizedSpan]) -> None:
        self._spans = sorted(spans, key=lambda span: span.sent.started_at)
        self._began = [span.sent.started_at for span in self._spans]
        self._longest = max((span.sent.until - span.sent.started_at for span in self._spans), default=0)

    def near(self, span: NormalizedSpan) -> list[NormalizedSpan]:
        """Return those that may have run while a span did: all that did are among them, in order.

        None of them began after it ended, or ended before it began if they took as long as the longest.
        """
        first = bisect_left(self._began, span.sent.started_at - self._longest)
        return self._spans[first : bisect_right(self._began, span.sent.until)]
