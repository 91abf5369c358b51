"""Requests that never ended by themselves: what is around them failed, and ended them with itself, at the same instant.

Such a request says nothing of how it went: no status, and nothing of an answer. Where it alone was going on then, and
nothing else had failed since it began, the error of what is around it is its own. A clock of whole milliseconds shows
equal ends by chance: of those, and of several at once, the run only lists that nothing is known.

A program may end such a request itself, as if it had been answered with nothing. It failed where its agent failed, nothing
was done after it and nothing else failed, and where what was answered tells who answered or counts, and this does not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from retrospan.ingest.interpret.messages.message import is_blank
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import MILLISECOND
from retrospan.ingest.interpret.tree.tree import Tree

_ACTS = ("inference", "tool")
_COUNTED = re.compile(r"\d+")


def fail_cut_requests(tree: Tree) -> None:
    """Give requests the error of what is around them and ended them, in place."""
    if not any(span.failed for span in tree.spans):
        return
    _fail_unanswered(tree)
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


def _fail_unanswered(tree: Tree) -> None:
    """Give the last request of an agent that failed the error of it, in place, where the request alone tells no answer."""
    failed = {span for span in tree.spans if span.failed and span.operation not in _ACTS}
    empty = (
        [span for span in tree.spans if span.operation == "inference" and _is_empty(span)] if failed else []
    )
    if not empty:
        return
    nearest = tree.nearest(failed.__contains__)
    acts: dict[NormalizedSpan, list[NormalizedSpan]] = {}
    for act in tree.spans:
        if act.operation in _ACTS and act in nearest:
            acts.setdefault(nearest[act], []).append(act)
    for span in empty:
        inside = acts.get(nearest[span], []) if span in nearest else []
        # A span around all requests, or one inside of the last, may tell of it as well.
        around = set(tree.ancestors(span))
        apart = [act for act in inside if act not in around and not tree.is_below(act, span)]
        others = [act for act in apart if act is not span]
        if (
            apart[-1:] == [span]
            and not any(act.failed or _is_empty(act) for act in others)
            and any(_is_answered(act) and _is_alike(act, span) for act in others)
        ):
            above, span.failed, span.output = nearest[span], True, []
            span.error_type, span.error_message = above.error_type, above.error_message


def _is_empty(span: NormalizedSpan) -> bool:
    """Tell whether a request ended, and tells nothing of an answer but that it is empty."""
    said = any(message["parts"] and not is_blank(message) for message in span.output)
    is_told = span.failed or span.interrupted or span.is_told or span.is_unfinished or not span.input
    return not (is_told or said or span.finish_reasons or _is_answered(span))


def _is_answered(span: NormalizedSpan) -> bool:
    counted = (span.tokens.input, span.tokens.output) != (None, None)
    return bool(span.response_model or span.response_id or counted)


def _is_alike(one: NormalizedSpan, other: NormalizedSpan) -> bool:
    """Tell whether two spans are called alike, but for numbers that count them."""
    names = [_COUNTED.sub("", span.sent.name) for span in (one, other)]
    return one.sent.scope == other.sent.scope and names[0] == names[1]


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
