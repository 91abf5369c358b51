"""How a run descends from another: the link on its span, and the text that identifies a run outside its process."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote, unquote

from opentelemetry.trace import Span, SpanContext, TraceFlags

from retrospan.schemas.attributes import LINK_TYPE, RUN_ID

#: The ways in which one run descends from another; the first two keep its origin.
DESCENT = ("resumes", "retries", "forks", "replays")
KEEPS_ORIGIN = ("resumes", "retries")


@dataclass(frozen=True, slots=True)
class RunReference:
    """A run as another process can name it: its id, its origin, and its span."""

    run_id: str
    origin: str
    trace_id: int = 0
    span_id: int = 0

    def __str__(self) -> str:
        return f"{quote(self.run_id, safe='')};{quote(self.origin, safe='')};{self.trace_id:032x}-{self.span_id:016x}"

    @staticmethod
    def parse(text: str) -> RunReference:
        """Read what `str` made; any other text is the id of a run that is its own origin."""
        parts = text.split(";")
        try:
            run_id, origin, (trace, span) = unquote(parts[0]), unquote(parts[1]), parts[2].split("-")
            return RunReference(run_id, origin, int(trace, 16), int(span, 16))
        except (IndexError, ValueError):
            return RunReference(text, text)


def link(span: Span, kind: str, to: RunReference) -> None:
    """Link a run's span to the run that it descends from.

    A link needs ids of a trace and a span. Where only the run's id is known it is the trace's when it looks like one,
    else digits made from it; the run itself is always named beside.
    """
    trace_id, span_id = to.trace_id, to.span_id
    if not trace_id or not span_id:
        digest = sha256(to.run_id.encode(errors="replace")).digest()
        trace_id = _hex(to.run_id) or int.from_bytes(digest[:16], "big") or 1
        span_id = int.from_bytes(digest[16:24], "big") or 1
    target = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    span.add_link(target, {LINK_TYPE: kind, RUN_ID: to.run_id})


def _hex(text: str) -> int:
    try:
        return int(text, 16) if len(text) == 32 else 0
    except ValueError:
        return 0
