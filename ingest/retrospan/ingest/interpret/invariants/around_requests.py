"""Spans of a model around several requests: what they count and name is of all of them, or of none in particular."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.invariants.assembled_run import AssembledRun
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue
from retrospan.ingest.interpret.tree.tree import Tree


def held_requests(tree: Tree, models: Sequence[ModelCall]) -> dict[NormalizedSpan, list[ModelCall]]:
    """Return the outermost spans of a model that are not requests, each with the requests inside."""
    own = {call.span for call in models}
    around = {
        span
        for span in tree.spans
        if span.holds_requests
        or (span.operation == "inference" and not (span in own or span.is_part or span.is_told))
    }
    if not around:
        return {}
    nearest = tree.nearest(around.__contains__)
    held: dict[NormalizedSpan, list[ModelCall]] = {}
    for call in models:
        outer = nearest.get(call.span)
        while outer is not None and outer in nearest:
            outer = nearest[outer]
        if outer is not None:
            held.setdefault(outer, []).append(call)
    return held


def tokens_around(tree: Tree, models: Sequence[ModelCall]) -> list[TokenUsage]:
    """Return what spans around all requests of a run count, where no request counts anything; else nothing."""
    held = held_requests(tree, models)
    if sum(map(len, held.values())) < len(models):
        return []
    return [span.tokens for span in held]


def counts_of_calls(tree: Tree, models: Sequence[ModelCall]) -> Iterator[tuple[ModelCall, TokenUsage]]:
    """Yield what the calls of a run count, each once; of several that one span tells, none of which counts anything, what that
    span counts, with the first of them alone."""
    several = spans_of_several(tree, models)
    counting = {outer for span, outer in several.items() if counts(span)}
    known = set[NormalizedSpan]()
    for call in models:
        outer = several.get(call.span)
        if outer is None or outer in counting or not counts(outer):
            yield call, call.span.tokens
        elif outer not in known:
            known.add(outer)
            yield call, outer.tokens


def spans_of_several(tree: Tree, models: Sequence[ModelCall]) -> dict[NormalizedSpan, NormalizedSpan]:
    """Return the requests that one span tells of several, each with that span."""
    return {
        call.span: outer
        for call in models
        if call.span.is_of_several and (outer := tree.parent(call.span)) is not None
    }


def counts(span: NormalizedSpan) -> bool:
    """Tell whether a span counts any tokens."""
    return span.tokens.input is not None or span.tokens.output is not None


def told_around(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield counts and models that only a span around several requests tells: of each of them they are not known."""
    held = held_requests(run.tree, run.calls.models) if len(run.calls.models) > 1 else {}
    for outer, calls in held.items():
        answered = [call.span for call in calls if not call.span.failed]
        if len(answered) < 2:
            continue
        if outer.holds_requests:
            continue  # that is told of the span itself
        if outer.tokens.input and all(span.tokens.input is None for span in answered):
            reason = f"a count of the {len(calls)} requests inside: of each of them it is not known"
            yield issue(outer.sent.span_id, "input_tokens", str(outer.tokens.input), reason)
        for name in ("request_model", "response_model"):
            model: str | None = getattr(outer, name)
            if model is not None and all(getattr(span, name) is None for span in answered):
                reason = f"named around the {len(calls)} requests inside, and by none of them"
                yield issue(outer.sent.span_id, name, model, reason)
