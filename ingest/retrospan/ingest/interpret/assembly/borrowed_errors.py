"""Spans that say an error of another one: their instrumentation marks all that comes after a failure with its message.

What failed says so itself, in an event. That errors are borrowed shows where every span which the same instrumentation
began after such a failure has failed as well, and several of them, without an event, with the very same message though
they did what they were to do: a model answered and said why it ended, a tool returned something else than this error.
These did not fail, nor did what is around a model that answered. One that may have failed of its own stays as it is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.facts import EXCEPTIONS, names_any
from retrospan.ingest.json_text import write_json

#: So many acts that ended well and say the error of another show that it is borrowed: one may have met it again.
_ACTS = 2
_KINDS = ("inference", "tool")


def clear_borrowed_errors(tree: Tree) -> None:
    """Take failures from the spans that only repeat one, in place."""
    failed = [span for span in tree.spans if span.failed and span.error_message]
    if len(failed) <= _ACTS:
        return
    own = {span for span in failed if names_any(span.sent, EXCEPTIONS)}
    first: dict[tuple[str, str], NormalizedSpan] = {}
    for span in failed:
        if span in own and span.operation == "tool":
            first.setdefault(_error(span), span)
    for error, origin in first.items():
        after = [
            span
            for span in tree.spans
            if span.sent.scope == origin.sent.scope and span.sent.started_at >= origin.sent.ended_at > 0
        ]
        if not all(span in own or (span.failed and _error(span) in first) for span in after):
            continue
        repeating = [span for span in failed if span not in own and _error(span) == error]
        acts = [span for span in after if span in repeating and span.operation in _KINDS and _did(span)]
        if len(acts) >= _ACTS:
            _clear(tree, repeating, acts)


def _error(span: NormalizedSpan) -> tuple[str, str]:
    return span.sent.scope, span.error_message or ""


def _did(span: NormalizedSpan) -> bool:
    """Tell whether an act did what it was to do: nothing in what it returned is the error."""
    if span.operation == "inference":
        return bool(span.output and span.finish_reasons)
    return span.has_result and (span.error_message or "") not in write_json(span.result)


def _clear(tree: Tree, repeating: Sequence[NormalizedSpan], acts: Sequence[NormalizedSpan]) -> None:
    answered = [act for act in acts if act.operation == "inference"]
    around = [
        span for span in repeating if span.operation not in _KINDS and _is_around_any(tree, span, answered)
    ]
    for span in (*acts, *around):
        span.failed, span.error_type, span.error_message = False, None, None


def _is_around_any(tree: Tree, span: NormalizedSpan, calls: Iterable[NormalizedSpan]) -> bool:
    return any(above is span for call in calls for above in tree.ancestors(call))
