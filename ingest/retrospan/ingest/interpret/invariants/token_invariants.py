"""Invariants of tokens: totals are sums of what they cover, and no count is left unread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.invariants.assembled_run import AROUND, AssembledRun, leaves_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue

_COUNTS = (
    "prompt_tokens",
    "input_tokens",
    "promptTokens",
    "inputTokens",
    "prompt_token_count",
    "promptTokenCount",
)


@dataclass(slots=True)
class _Sum:
    """The tokens of one side of some model calls; `own` leaves out calls of agents inside."""

    first: ModelCall
    last: ModelCall
    calls: int = 0
    known: int = 0
    whole: int = 0
    cached: int = 0
    own: int = 0

    def take(self, other: _Sum) -> None:
        """Add what an agent inside used."""
        self.first = min(self.first, other.first, key=lambda call: call.ordinal)
        self.last = max(self.last, other.last, key=lambda call: call.ordinal)
        self.calls, self.known = self.calls + other.calls, self.known + other.known
        self.whole, self.cached = self.whole + other.whole, self.cached + other.cached


def token_sums(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield totals of agents that are not the sum of the model calls inside: neither of all, nor of their own.

    Frameworks also state the tokens of the last call, those without what came from a cache, or, where the conversation
    had begun before, the sum since its beginning.
    """
    stated = [span for span in run.tree.spans if span.operation in AROUND and span.tokens != TokenUsage()]
    if not stated:
        return
    above = run.tree.nearest(lambda span: span.operation in AROUND)
    for side in ("input", "output"):
        sums: dict[NormalizedSpan, _Sum] = {}
        for call in run.calls.models:
            if call.span in above:
                _add(sums.setdefault(above[call.span], _Sum(call, call)), call, side)
        for span in reversed(run.tree.top_down()):
            inside = sums.get(span)
            if inside is not None:
                yield from _unlike_sum(span, side, inside)
                if span in above:
                    sums.setdefault(above[span], _Sum(inside.first, inside.last)).take(inside)


def _add(total: _Sum, call: ModelCall, side: str) -> None:
    count: int | None = getattr(call.span.tokens, side)
    total.last = call
    total.calls += 1
    if count is not None:
        total.known, total.whole, total.own = total.known + 1, total.whole + count, total.own + count
        total.cached += call.span.tokens.cached or 0 if side == "input" else 0


def _unlike_sum(span: NormalizedSpan, side: str, inside: _Sum) -> Iterator[ParseIssue]:
    total: int | None = getattr(span.tokens, side)
    if not total or inside.known < inside.calls:
        return
    last = getattr(inside.last.span.tokens, side)
    goes_on = any(message["role"] == "assistant" for message in inside.first.input)
    if total in (inside.whole, inside.whole - inside.cached, inside.own, last):
        return
    if not (goes_on and total > inside.whole):
        reason = f"the total is not the sum of the {inside.calls} model calls inside: {inside.whole}"
        yield issue(span.sent.span_id, f"{side}_tokens", str(total), reason)


def totals_of_calls(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield totals of model calls that are not input and output; reasoning and what was cached may stand beside them."""
    for call in run.calls.models:
        tokens, attributes = call.span.tokens, call.span.sent.attributes
        total = next((attributes[key] for key in call.span.names.total_tokens if key in attributes), None)
        if not isinstance(total, int) or isinstance(total, bool) or not total:
            continue
        if tokens.input is None or tokens.output is None:
            continue
        kept = (tokens.cached or 0) + (tokens.written or 0)
        beside = {0, tokens.reasoning or 0, tokens.cached or 0, -(tokens.cached or 0), -kept}
        if total - tokens.input - tokens.output not in beside:
            reason = f"the total is not {tokens.input} tokens of input and {tokens.output} of output"
            yield issue(call.span.sent.span_id, "input_tokens", str(total), reason)


def unread_tokens(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield a count of tokens that a root returned, where nothing is known of the run's tokens."""
    roots = run.tree.roots() if run.calls.models else []
    if any(each.input or each.output for each in _tokens(run, roots)):
        return
    for root in roots:
        for key, value in leaves_of(root.framework_output):
            if key in _COUNTS and isinstance(value, int) and not isinstance(value, bool) and value:
                yield issue(
                    root.sent.span_id, "input_tokens", f"{key}: {value}", "a count of tokens that is not read"
                )
                return


def _tokens(run: AssembledRun, roots: Iterable[NormalizedSpan]) -> Iterator[TokenUsage]:
    yield from (call.span.tokens for call in run.calls.models)
    yield from (root.tokens for root in roots)
