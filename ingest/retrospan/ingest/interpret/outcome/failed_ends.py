"""How a run ended whose root does not say that it failed: with an agent that failed, or an exception of the root's."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.facts import EXCEPTIONS
from retrospan.ingest.interpret.tree.tree import Tree

#: Operations of spans around the acts of a run.
_AROUND = ("agent", "workflow")
#: Sooner than a model answers, in nanoseconds: in this time nothing was done that is not told.
_AT_ONCE = 50_000_000


def ended_with_failure(
    tree: Tree, judging: AbstractSet[NormalizedSpan], answering: NormalizedSpan | None
) -> bool:
    """Tell whether the last of the outermost agents failed after all that was done in the run, and its answer, if there is
    one, was said inside of it.

    A message bus or a web server around an agent ends well when the agent does not: it does not speak for it. Neither
    does what had ended before the agent, such as a workflow that only set it going. What judges an agent is none of them.
    """
    around = [span for span in tree.spans if span.operation in _AROUND and span not in judging]
    if not any(span.failed for span in around):
        return False
    nearest = tree.nearest(lambda span: span.operation in _AROUND)
    outermost = [
        span for span in around if span not in nearest or nearest[span].sent.done_at < span.sent.done_at
    ]
    if outermost and not outermost[-1].failed:
        outermost = [span for span in around if _was_stopped(span) and nearest.get(span) is outermost[-1]]
    if not outermost or not outermost[-1].failed:
        return False
    begun = (
        span.sent.started_at
        for span in tree.spans
        if span.operation in ("inference", "tool") and span not in judging
    )
    last = outermost[-1]
    return last.sent.done_at >= max(begun, default=0) and (
        answering is None or tree.is_below(answering, last)
    )


def _was_stopped(span: NormalizedSpan) -> bool:
    """Tell whether an agent failed with an error about a guardrail: that ends the run, and what is around the agent as well
    may only hold it, and not say so."""
    return span.failed and span.error_message is not None and "guardrail" in span.error_message.lower()


def ended_without_return(tree: Tree, judging: AbstractSet[NormalizedSpan]) -> bool:
    """Tell whether an agent failed after all that was done in a run, and what is around it ended at once and returned
    nothing.

    For a run without an answer: what is around the agent may have any status, where its instrumentation sets none or the
    same one everywhere, but nothing came of it.
    """
    around = [span for span in tree.spans if span.operation in _AROUND and span not in judging]
    failed = [span for span in around if span.failed and span.operation == "agent"]
    if not failed:
        return False
    last = max(failed, key=lambda span: span.sent.done_at)
    done_at, above = last.sent.done_at, set(tree.ancestors(last))
    if any(
        span.output or span.framework_output is not None or span.sent.done_at > done_at + _AT_ONCE
        if span in above
        else span.sent.done_at > done_at
        for span in around
    ):
        return False
    return all(
        span.sent.started_at <= done_at for span in tree.spans if span.operation in ("inference", "tool")
    )


def ended_with_exception(tree: Tree) -> bool:
    """Tell whether a root whose status says nothing tells an exception last, after all that was done in the run.

    Some instrumentations note what was raised, and set no status.
    """
    raising = [
        root
        for root in tree.roots()
        if root.sent.status == "unset"
        and root.sent.events
        and root.sent.events[-1].name in EXCEPTIONS
        and not root.interrupted
    ]
    return any(
        root.sent.events[-1].time_ns
        >= max((span.sent.done_at for span in tree.spans if span is not root), default=0)
        for root in raising
    )
