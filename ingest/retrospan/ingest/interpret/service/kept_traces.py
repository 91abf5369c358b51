"""What the interpreting process keeps of traces that go on, so that one that grew is not read from its first span again.

Kept is only what spans were read to say, and it serves only for spans that come again as they were. It is in this process
alone and ends with it: where runs are deleted, or read again because somebody asked for that, the process is ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from retrospan.ingest.interpret.normalize.kept_readings import KeptReadings, SpanReader
from retrospan.ingest.interpret.spans.span import Span

#: What is kept takes no more memory than that, by its own estimate, which is high by a third.
KEPT_BYTES = 192 << 20


class KeptTraces:
    """Readings by tenant and trace, the least recently read forgotten first. Belongs to one thread."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self.known = 0
        """How many spans were known when they were to be read, since the caller last set this to 0."""
        self._most = most_bytes
        self._traces: dict[tuple[str, str], KeptReadings] = {}
        self._ended: set[tuple[str, str]] = set()

    @property
    def size(self) -> int:
        """About how many bytes all this takes."""
        return sum(kept.size for kept in self._traces.values())

    def reader(self, tenant: str, trace_id: str, spans: Sequence[Span]) -> SpanReader:
        """Return what reads the spans of a trace: one that knows them, unless it has ended and none of them is known."""
        key = (tenant, trace_id)
        kept = self._traces.pop(key, None)
        ended = has_ended(spans)
        if kept is None:
            if ended:
                return SpanReader()
            kept = KeptReadings()
        if ended:
            self._ended.add(key)
        kept.keep_only(spans)
        self._traces[key] = kept
        return kept

    def settle(self) -> None:
        """Forget the traces that have ended, now that they were read, and what is too much."""
        for kept in self._traces.values():
            self.known += kept.known
            kept.known = 0
        for key in self._ended:
            self._traces.pop(key, None)
        self._ended.clear()
        left = self.size
        while left > self._most:
            left -= self._traces.pop(next(iter(self._traces))).size

    def clear(self) -> None:
        """Forget everything."""
        self._traces.clear()
        self._ended.clear()


def has_ended(spans: Iterable[Span]) -> bool:
    """Tell whether the root span of a trace has come: little will follow."""
    return any(not span.parent_span_id and not span.is_unfinished for span in spans)
