"""Clocks of machines that contradict what must have come before what: such spans are read by the clock of their callers.

Nothing begins before the span that it lies in, a server does not begin after its client was answered, a call is not
executed before a model asked for it, and nobody is told an answer before it was given. Where the times of another machine
say so, its clock differs by at least as much. Its spans are moved by the least that agrees with all of this, all of them
alike; if nothing agrees, they stay. What is moved is a copy: the span that was sent keeps its times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue
from retrospan.ingest.interpret.spans.span import MILLISECOND, Attributes, Span
from retrospan.ingest.interpret.tree.causes import Causes, Order
from retrospan.schemas import semconv

#: Which machine it was, the first that is told; a pod has the clock of its node.
_MACHINES = (
    semconv.HOST_ID,
    semconv.K8S_NODE_NAME,
    semconv.HOST_NAME,
    semconv.K8S_POD_UID,
    semconv.K8S_POD_NAME,
    semconv.CONTAINER_ID,
)
_SERVICES = (semconv.SERVICE_NAMESPACE, semconv.SERVICE_NAME, semconv.SERVICE_INSTANCE_ID)

Clock = tuple[object, ...]


def set_clocks(spans: Sequence[NormalizedSpan]) -> list[ParseIssue]:
    """Move the times of spans whose clock is certain to differ from that of the root's machine, in place; return what was
    done, one for each clock."""
    clocks = _Clocks(spans)
    if len(clocks.spans) < 2:
        return []
    moved = clocks.moved()
    for clock, by in moved.items():
        for span in clocks.spans[clock]:
            span.sent = _at_other_time(span.sent, by)
    return [_told(clocks.spans[clock], by) for clock, by in moved.items()]


@dataclass
class _Bounds:
    """By how many nanoseconds a clock may be moved; `inside` is the most that leaves each answer inside of its request."""

    least: float = -inf
    most: float = inf
    inside: float = inf

    def move(self) -> int:
        """Return the least move that agrees with all that is known; 0 where none is needed, or none agrees."""
        if self.least > self.most:
            return 0
        if self.least >= MILLISECOND:
            return _whole(self.least + MILLISECOND - 1)
        if self.most <= -MILLISECOND:
            return _whole(max(min(self.most, self.inside), self.least))
        return 0


class _Clocks:
    """The spans of a run by the clock that gave them their times."""

    def __init__(self, spans: Sequence[NormalizedSpan]) -> None:
        self.spans: dict[Clock, list[NormalizedSpan]] = {}
        self._of: dict[NormalizedSpan, Clock] = {}
        known: dict[int, Clock] = {}
        for span in spans:
            resource = span.sent.resource
            clock = known.get(id(resource))
            if clock is None:
                clock = known[id(resource)] = _clock_of(resource)
            self._of[span] = clock
            self.spans.setdefault(clock, []).append(span)

    def moved(self) -> dict[Clock, int]:
        """Return by how much clocks differ from that of the root, in the order in which they were called; none that agree."""
        orders: dict[Clock, list[Order]] = {}
        for order in Causes(self._of).orders():
            for span in (order.first, order.then):
                orders.setdefault(self._of[span], []).append(order)
        placed = dict.fromkeys(self._roots(), 0)
        newest = [*placed]
        while newest:
            bounds: dict[Clock, _Bounds] = {}
            # Of clocks that are not placed yet only those placed last tell something.
            for order in (order for clock in newest for order in orders.get(clock, ())):
                _narrow(bounds, order, self._of[order.first], self._of[order.then], placed)
            placed.update({clock: each.move() for clock, each in bounds.items()})
            newest = [*bounds]
        return {clock: by for clock, by in placed.items() if by}

    def _roots(self) -> list[Clock]:
        """Return the clocks of spans that lie in no other of the run: nothing else tells what time it was."""
        known = {(span.sent.trace_id, span.sent.span_id) for span in self._of}
        return [
            self._of[span]
            for span in self._of
            if (span.sent.parent_trace_id or span.sent.trace_id, span.sent.parent_span_id) not in known
        ]


def _narrow(
    bounds: dict[Clock, _Bounds], order: Order, first: Clock, then: Clock, placed: Mapping[Clock, int]
) -> None:
    """Note what an order says of the clock that is not placed yet, if the other one is."""
    if first in placed and then not in placed:
        own = bounds.setdefault(then, _Bounds())
        own.least = max(own.least, order.first_at + placed[first] - order.then_at)
    elif then in placed and first not in placed:
        own = bounds.setdefault(first, _Bounds())
        own.most = min(own.most, order.then_at + placed[then] - order.first_at)
        if order.first_until:
            own.inside = min(own.inside, order.then_at + placed[then] - order.first_until)


def _clock_of(resource: Attributes) -> Clock:
    names = next(((name,) for name in _MACHINES if resource.get(name)), _SERVICES)
    return tuple((name, repr(resource.get(name))) for name in names)


def _whole(by: float) -> int:
    """Return whole milliseconds: which clocks count no less must stay to be seen."""
    return int(by // MILLISECOND) * MILLISECOND


def _at_other_time(sent: Span, by: int) -> Span:
    """Return the span with its events as they were by the other clock; whose clock its log records have nobody says."""
    return replace(
        sent,
        started_at=_moved(sent.started_at, by),
        ended_at=_moved(sent.ended_at, by),
        filled_at=_moved(sent.filled_at, by),
        events=[replace(event, time_ns=_moved(event.time_ns, by)) for event in sent.events],
    )


def _moved(time: int, by: int) -> int:
    """Return a time by the other clock; 0 is none."""
    return time + by if time else 0


def _told(spans: Sequence[NormalizedSpan], by: int) -> ParseIssue:
    first = min((span.sent for span in spans), key=lambda sent: sent.order)
    service = first.resource.get(semconv.SERVICE_NAME) or "-"
    late, earlier = ("slow", "later") if by > 0 else ("fast", "earlier")
    return issue(
        first.span_id,
        "started_at",
        str(first.started_at - by),
        f"the clock of service {str(service)[:100]!r} is {late} against that of its caller: its {len(spans):,} spans are"
        f" told {abs(by) / 1e9:,.3f} s {earlier} than they say, which is the least that agrees with who called whom",
    )
