"""How a run ended whose root says nothing of it: with an agent that failed."""

from __future__ import annotations

from retrospan.ingest.interpret.assembly.tree import Tree

#: Operations of spans around the acts of a run.
_AROUND = ("agent", "workflow")


def ended_with_failure(tree: Tree) -> bool:
    """Tell whether the last of the outermost agents failed after all that was done in the run.

    A message bus or a web server around an agent ends well when the agent does not: it does not speak for it. Neither
    does what had ended before the agent, such as a workflow that only set it going.
    """
    around = [span for span in tree.spans if span.operation in _AROUND]
    if not any(span.failed for span in around):
        return False
    nearest = tree.nearest(lambda span: span.operation in _AROUND)
    outermost = [
        span for span in around if span not in nearest or nearest[span].sent.done_at < span.sent.done_at
    ]
    if not outermost or not outermost[-1].failed:
        return False
    begun = (span.sent.started_at for span in tree.spans if span.operation in ("inference", "tool"))
    return outermost[-1].sent.done_at >= max(begun, default=0)
