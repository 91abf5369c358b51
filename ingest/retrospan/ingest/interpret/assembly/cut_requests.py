"""Requests that never ended by themselves: what is around them failed, and ended them with itself, at the same instant.

Such a request says nothing of how it went: no status, and nothing of an answer. Where it alone was going on then, and
nothing else had failed since it began, the error of what is around it is its own. A clock of whole milliseconds shows
equal ends by chance: of those, and of several at once, the run only lists that nothing is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import MILLISECOND

_ACTS = ("inference", "tool")


def fail_cut_requests(tree: Tree) -> None:
    """Give requests the error of what is around them and ended them, in place."""
    cut = cut_requests(tree)
    if not cut:
        return
    held = Counter(cut.values())
    nearest = tree.nearest(held.__contains__)
    failed: dict[NormalizedSpan, int] = {}
    for act in tree.spans:
        if act.failed and act.operation in _ACTS and act in nearest:
            around = nearest[act]
            failed[around] = max(failed.get(around, 0), act.sent.done_at)
    for span, around in cut.items():
        is_alone = held[around] == 1 and failed.get(around, 0) <= span.sent.started_at
        if is_alone and span.sent.ended_at % MILLISECOND:
            span.failed = True
            span.error_type, span.error_message = around.error_type, around.error_message


def cut_requests(tree: Tree) -> Mapping[NormalizedSpan, NormalizedSpan]:
    """Return the requests of which nothing says how they went, each with what is around it, failed, and ended with it."""
    if not any(span.failed for span in tree.spans):
        return {}
    ended: dict[NormalizedSpan, NormalizedSpan] = {}
    for span in tree.top_down():
        above = tree.parent(span)
        if above is not None and above.sent.ended_at == span.sent.ended_at:
            around = above if above.failed else ended.get(above)
            if around is not None:
                ended[span] = around
    return {
        span: ended[span]
        for span in tree.spans
        if span in ended and span.operation == "inference" and _says_nothing(span)
    }


def _says_nothing(span: NormalizedSpan) -> bool:
    """Tell whether nothing says how a request went, or that it was answered."""
    told = (
        span.failed or span.interrupted or span.is_told or span.is_unfinished or span.sent.status != "unset"
    )
    answered = span.output or span.finish_reasons or span.response_id or span.response_model
    counted = (span.tokens.input, span.tokens.output) != (None, None)
    return not (told or answered or counted) and span.sent.ended_at > 0
