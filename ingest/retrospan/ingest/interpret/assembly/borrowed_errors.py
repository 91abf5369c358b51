"""Spans that say an error of another one: their instrumentation marks all that comes after a failure with its message.

What failed says so itself, in an event. A span without such an event, with the very same message, did not fail where it
began after that and returned something; nor did what is around both, where the model went on and answered.
"""

from __future__ import annotations

from collections.abc import Iterable

from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.facts import EXCEPTIONS, names_any


def clear_borrowed_errors(tree: Tree) -> None:
    """Take failures from the spans that only repeat one, in place."""
    failed = [span for span in tree.spans if span.failed and span.error_message]
    if len(failed) < 2:
        return
    own = {span for span in failed if names_any(span.sent, EXCEPTIONS)}
    first: dict[str, NormalizedSpan] = {}
    for span in failed:
        if span in own and span.operation == "tool":
            first.setdefault(span.error_message or "", span)
    repeating = [span for span in failed if span not in own and (span.error_message or "") in first]
    for span in repeating:
        origin = first[span.error_message or ""]
        after = span.sent.started_at >= origin.sent.ended_at > 0
        if after and (span.output or span.has_result):
            _clear(span)
    if not repeating:
        return
    around = tree.around(first.values())
    answered = [
        span for span in tree.spans if span.operation == "inference" and span.output and not span.failed
    ]
    for span in repeating:
        if span.failed and span.operation not in ("inference", "tool"):
            origin = first[span.error_message or ""]
            later = (call for call in answered if call.sent.started_at >= origin.sent.ended_at)
            if span not in around or _is_around_any(tree, span, later):
                _clear(span)


def _is_around_any(tree: Tree, span: NormalizedSpan, calls: Iterable[NormalizedSpan]) -> bool:
    return any(above is span for call in calls for above in tree.ancestors(call))


def _clear(span: NormalizedSpan) -> None:
    span.failed, span.error_type, span.error_message = False, None, None
