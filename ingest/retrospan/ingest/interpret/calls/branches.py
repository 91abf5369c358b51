"""Executions and the calls that wait for one, from the innermost span that holds both outwards.

Agents at work side by side may ask for the same: whose execution it is tells the branch of the tree in which it ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from retrospan.ingest.interpret.calls.calls import RequestedCall
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree

#: Branches in which an execution looks for its call before it looks in the whole run.
MOST = 16

_IN_ORDER = attrgetter("by")


@dataclass(slots=True, eq=False)
class Branch:
    """What is inside one span and was not paired further inside: executions, and calls by the name of their tool."""

    executed: list[NormalizedSpan] = field(default_factory=list)
    waiting: dict[str, list[RequestedCall]] = field(default_factory=dict)
    has_more: bool = False  # than was there further inside

    def take_in(self, other: Branch) -> None:
        self.executed += other.executed
        for name, calls in other.waiting.items():
            own = self.waiting.setdefault(name, [])
            own += calls
            own.sort(key=_IN_ORDER)
        self.has_more = True


def innermost_first(
    tree: Tree,
    executed: Sequence[NormalizedSpan],
    waiting: Mapping[NormalizedSpan, Sequence[RequestedCall]],
) -> Iterator[Branch]:
    """Yield what is in each branch that holds both, and at last the whole run; `waiting` has the calls of each request.

    What is taken out of a branch is not in those around it. Where all requests are right below one span the tree tells
    nothing, nor where parts of it hang from spans that never came: then the whole run is the only branch.
    """
    places = {span: place for place, span in enumerate(executed)}
    branches: dict[NormalizedSpan, Branch] = {}
    for span in executed:
        branches[span] = Branch([span])
    for span, calls in waiting.items():
        branch = branches.setdefault(span, Branch())
        for call in calls:
            branch.waiting.setdefault(call.name, []).append(call)
    whole = Branch()
    is_torn = len(tree.roots()) > 1 and any(span.sent.parent_span_id for span in tree.roots())
    if is_torn or len({tree.parent(span) for span in waiting}) < 2:
        for branch in branches.values():
            whole.take_in(branch)
        branches.clear()
    tried: dict[NormalizedSpan, int] = {}
    for span in reversed(tree.top_down()) if branches else ():
        if span not in branches:
            continue
        branch = branches.pop(span)
        if branch.has_more and branch.executed and any(branch.waiting.values()):
            branch.executed.sort(key=places.__getitem__)
            yield branch
            branch.has_more = False
            for each in branch.executed:
                tried[each] = tried.get(each, 0) + 1
            whole.executed += [each for each in branch.executed if tried[each] >= MOST]
            branch.executed = [each for each in branch.executed if tried[each] < MOST]
        above = tree.parent(span)
        outer = whole if above is None else branches.get(above)
        if outer is not None:
            outer.take_in(branch)
        elif above is not None:
            branches[above] = branch
    whole.executed.sort(key=places.__getitem__)
    yield whole
