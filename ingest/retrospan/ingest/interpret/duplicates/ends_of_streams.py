"""Requests whose streamed answer is told by a span of its own, once the stream has ended.

The span of such a request ends when the stream begins, and tells no answer. The other one is an instant: it repeats the
request, and tells what was answered.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree

#: So many requests before an instant are looked at, the last to begin first.
_MOST = 50


def ends_of_streams(
    tree: Tree, requests: Sequence[NormalizedSpan]
) -> list[tuple[NormalizedSpan, NormalizedSpan]]:
    """Return requests that tell no answer, each with the instant after it that repeats it, and tells one.

    Both are of one scope, stand beside each other, and name the same model and prompt. Of several alike it is the last
    that had begun: one before it may have been given up.
    """
    begun: list[NormalizedSpan] = []
    pairs: list[tuple[NormalizedSpan, NormalizedSpan]] = []
    for span in requests:
        if not span.output:
            if not _is_instant(span) and not span.failed and span.response_id is None:
                begun.append(span)
            continue
        if not (begun and span.input and _is_instant(span)):
            continue
        for place in range(len(begun) - 1, max(-1, len(begun) - 1 - _MOST), -1):
            if _is_repeated(tree, begun[place], span):
                pairs.append((begun.pop(place), span))
                break
    return pairs


def _is_instant(span: NormalizedSpan) -> bool:
    return span.sent.started_at == span.sent.ended_at


def _is_repeated(tree: Tree, request: NormalizedSpan, end: NormalizedSpan) -> bool:
    return (
        request.sent.ended_at <= end.sent.started_at
        and request.sent.scope == end.sent.scope
        and request.sent.parent_span_id == end.sent.parent_span_id
        and tree.parent(request) is tree.parent(end)
        and (request.request_model, request.system) == (end.request_model, end.system)
        and request.input == end.input
    )
