"""Spans that sum up the tokens of the requests beside them: they have the names of requests, but are not requests."""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree

_COUNTS = ("input", "output", "cached", "written", "reasoning")


def without_totals(tree: Tree, requests: Sequence[NormalizedSpan]) -> list[NormalizedSpan]:
    """Return the requests without what only counts others: the one span of another name below their parent, which tells
    nothing that was said, has their model, lies around them and counts just what they count together.

    Of spans with one name it is not known: two requests side by side may well be as long.
    """
    beside: dict[NormalizedSpan, list[NormalizedSpan]] = {}
    for span in requests:
        above = tree.parent(span)
        if above is not None and not span.is_told:
            beside.setdefault(above, []).append(span)
    totals = {total for spans in beside.values() if (total := _total_of(spans)) is not None}
    for total in totals:
        total.is_part = True
    return [span for span in requests if span not in totals]


def _total_of(spans: Sequence[NormalizedSpan]) -> NormalizedSpan | None:
    by_name: dict[str, list[NormalizedSpan]] = {}
    for span in spans:
        by_name.setdefault(span.sent.name, []).append(span)
    if len(by_name) != 2:
        return None
    one, other = by_name.values()
    found = (
        own[0] for own, others in ((one, other), (other, one)) if len(own) == 1 and _counts(own[0], others)
    )
    return next(found, None)


def _counts(total: NormalizedSpan, requests: Sequence[NormalizedSpan]) -> bool:
    """Tell whether a span says of requests what they took together, and nothing else."""
    if total.input or total.output or total.response_id or total.failed:
        return False
    if not (total.tokens.input and total.tokens.output):
        return False
    began, ended = total.sent.started_at, total.sent.until
    return all(
        began <= span.sent.started_at <= span.sent.until <= ended
        and span.request_model == total.request_model
        for span in requests
    ) and all(_sum(requests, name) == getattr(total.tokens, name) for name in _told(total))


def _told(total: NormalizedSpan) -> list[str]:
    return [name for name in _COUNTS if getattr(total.tokens, name) is not None]


def _sum(requests: Sequence[NormalizedSpan], name: str) -> int:
    return sum(getattr(span.tokens, name) or 0 for span in requests)
