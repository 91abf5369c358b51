"""Spans side by side that tell of one request: two instrumentations, or an SDK's own span beside that of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations

from retrospan.ingest.interpret.duplicates.ends_of_streams import ends_of_streams
from retrospan.ingest.interpret.messages.completion import agree
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import SERVER
from retrospan.ingest.interpret.tree.by_time import ByTime
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.schemas import semconv

#: Requests after one among which another telling of it is looked for.
NEAR = 8
Complete = Callable[[NormalizedSpan, NormalizedSpan], None]


def without_doubles(
    tree: Tree, requests: Sequence[NormalizedSpan], complete: Complete
) -> list[NormalizedSpan]:
    """Return the requests without those that another tells of, which is completed by them.

    Those are one that have the id of one response, ran at the same time, and are told by several scopes or services: an
    answer that comes again from a cache has its id as well, and another time. A request that says neither what was asked
    nor what was answered, nor the id of the response, is the one of another scope that lies around it and says one of
    these, beside it in the tree, with the same model: if there is just one, and just this one lies in that. So are all
    the requests of another trace, if there is such a one around each, or inside it. One there, or in another trace, that
    tells the same answer to the same prompt, or the same prompt and no answer, is it as well; and so is what tells the end of
    its stream.
    """
    told: set[NormalizedSpan] = set()
    for one, other in [
        *_of_one_response(requests),
        *_without_content(tree, requests),
        *_told_alike(tree, requests),
        *ends_of_streams(tree, requests),
    ]:
        if one not in told and other not in told:
            complete(one, other)
            other.is_part = True
            told.add(other)
    return [span for span in requests if span not in told]


def _of_one_response(requests: Sequence[NormalizedSpan]) -> list[tuple[NormalizedSpan, NormalizedSpan]]:
    by_id: dict[str, list[NormalizedSpan]] = {}
    for span in requests:
        if span.response_id and not span.is_told:
            by_id.setdefault(span.response_id, []).append(span)
    pairs: list[tuple[NormalizedSpan, NormalizedSpan]] = []
    for spans in chain.from_iterable(map(_at_a_time, by_id.values())):
        told_by = {(span.sent.scope, _service(span)) for span in spans}
        if 1 < len(spans) == len(told_by) and all(_overlap(*each) for each in combinations(spans, 2)):
            fuller, *others = sorted(spans, key=lambda span: not (span.input or span.output))
            pairs += ((fuller, other) for other in others)
    return pairs


def _at_a_time(spans: Sequence[NormalizedSpan]) -> Iterator[list[NormalizedSpan]]:
    """Yield those of some spans, in order of time, that ran while others did, together."""
    row: list[NormalizedSpan] = []
    ended = 0.0
    for span in spans:
        if row and span.sent.started_at >= ended:
            yield row
            row = []
        row.append(span)
        ended = max(ended, span.sent.until)
    yield row


def _without_content(
    tree: Tree, requests: Sequence[NormalizedSpan]
) -> list[tuple[NormalizedSpan, NormalizedSpan]]:
    bare = dict.fromkeys(span for span in requests if not (span.input or span.output or span.is_told))
    telling = ByTime(span for span in requests if bare and _tells_something(span))
    around = {
        span: [
            each
            for each in telling.near(span)
            if not (span.response_id and each in bare)
            and (_lies_in(tree, span, each) or (_is_elsewhere(span, each) and _lies_in(tree, each, span)))
        ]
        for span in bare
    }
    holding: dict[NormalizedSpan, int] = {}
    for found in around.values():
        for each in found:
            holding[each] = holding.get(each, 0) + 1
    pairs = {span: found[0] for span, found in around.items() if len(found) == 1 and holding[found[0]] == 1}
    # Another trace tells all of a run again, or it is something else.
    apart = {span.sent.trace_id for span in bare if span not in pairs}
    return [
        (outer, span)
        for span, outer in pairs.items()
        if span.sent.trace_id == outer.sent.trace_id or span.sent.trace_id not in apart
    ]


def _is_elsewhere(span: NormalizedSpan, other: NormalizedSpan) -> bool:
    return span.sent.trace_id != other.sent.trace_id


def _tells_something(span: NormalizedSpan) -> bool:
    """Tell whether it says something of the request or the answer; of one that failed, which model was asked."""
    return bool(span.input or span.output or span.response_id or (span.failed and span.request_model))


def _told_alike(
    tree: Tree, requests: Sequence[NormalizedSpan]
) -> list[tuple[NormalizedSpan, NormalizedSpan]]:
    """Return the requests that lie in just one of another scope beside them, or in another trace, which tells the same
    answer to the same prompt, each after that one."""
    scopes = {span.sent.scope for span in requests if span.input or span.output}
    pairs: list[tuple[NormalizedSpan, NormalizedSpan]] = []
    for place, outer in enumerate(requests if len(scopes) > 1 else ()):
        inside: list[NormalizedSpan] = []
        for inner in requests[place + 1 : place + 1 + NEAR]:
            if inner.sent.started_at > outer.sent.until:
                break
            if inner.sent.scope != outer.sent.scope and _lies_in(tree, inner, outer):
                inside.append(inner)
        if len(inside) == 1 and _tells_the_same(inside[0], outer):
            pairs.append((outer, inside[0]))
    return pairs


def _tells_the_same(one: NormalizedSpan, other: NormalizedSpan) -> bool:
    """Tell whether both tell the answer, or else the prompt, and nothing of either that differs."""
    return (
        bool((one.output and other.output) or (one.input and other.input))
        and agree(one.output, other.output)
        and agree(one.input, other.input)
    )


def _lies_in(tree: Tree, bare: NormalizedSpan, around: NormalizedSpan) -> bool:
    inner, outer = bare.sent, around.sent
    return (
        outer.started_at <= inner.started_at <= inner.until <= outer.until
        and inner.scope != outer.scope
        and _is_of_one_model(bare, around)
        and (inner.trace_id != outer.trace_id or _are_beside(tree, bare, around))
        and (not bare.response_id or not around.response_id or bare.response_id == around.response_id)
    )


def _are_beside(tree: Tree, one: NormalizedSpan, other: NormalizedSpan) -> bool:
    """Tell whether both have the same parent, or what a server of another service did for one of them has it."""
    at, service = one, _service(one)
    if service != _service(other):
        while (above := tree.parent(at)) is not None and _service(above) == service:
            at = above
        at = at if at.sent.kind == SERVER else one
    return tree.parent(at) is tree.parent(other) and at.sent.parent_span_id == other.sent.parent_span_id


def _service(span: NormalizedSpan) -> object:
    return span.sent.resource.get(semconv.SERVICE_NAME)


def _is_of_one_model(bare: NormalizedSpan, around: NormalizedSpan) -> bool:
    """Tell whether both asked for one model; what tells of the response alone names the one that answered, and none where
    both failed."""
    if bare.request_model is not None:
        return bare.request_model == around.request_model
    if bare.response_model is not None:
        return bare.response_model == around.response_model
    return bare.failed and around.failed


def _overlap(one: NormalizedSpan, other: NormalizedSpan) -> bool:
    return max(one.sent.started_at, other.sent.started_at) < min(one.sent.until, other.sent.until)
