"""Which call that a model asked for each execution of a tool belongs to: by id, else by where it ran and what it was given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from retrospan.ingest.interpret.calls.branches import Branch, innermost_first
from retrospan.ingest.interpret.calls.calls import ModelCall, RequestedCall
from retrospan.ingest.interpret.messages.message import Part
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments
from retrospan.ingest.interpret.normalize.toolspan import unquoted
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.schemas import semconv

#: Calls of one name among which an execution without call id looks for the one that asked for it.
NEAR = 100
#: Each execution with the call that asked for it, None where several did and nothing tells which, and whether its id says so.
Pairs = dict[NormalizedSpan, tuple[RequestedCall | None, bool]]
#: What a message tells that a call returned.
Returned = Callable[[RequestedCall], Part | None]


def pair_executions(
    executed: Sequence[NormalizedSpan],
    asked: Sequence[RequestedCall],
    models: Sequence[ModelCall],
    tree: Tree,
    returned: Returned,
) -> Pairs:
    """Pair executions with askings: by id, else by name and arguments, else by name, each in order and never ahead of time.

    An id may be executed more than once: each further execution is another try of the same call, unless the answer gave
    the id to several calls. Without an id, what ran in the same branch of the tree goes before what ran elsewhere.
    """
    pairs: Pairs = {}
    ended = {call.ordinal: call.span.sent.done_at for call in models}
    by_id: dict[str, list[RequestedCall]] = {}
    for call in asked:
        if call.call_id:
            by_id.setdefault(call.call_id, []).append(call)
    for span in executed:
        found = by_id.get(span.tool_call_id) if span.tool_call_id else None
        if found is not None:
            before = [call for call in found if ended[call.by] <= max(span.sent.begun_by, 1)]
            last = (before or found)[-1]
            asking = (
                last if len(found) == 1 else _of_one_id(span, [each for each in found if each.by == last.by])
            )
            asking.taken = True
            pairs[span] = (asking, True)
    by_request: dict[NormalizedSpan, list[RequestedCall]] = {}
    for call in asked:
        if not call.taken:
            by_request.setdefault(models[call.by - 1].span, []).append(call)
    if not by_request or len(pairs) == len(executed):
        return pairs
    matching = _Matching(models, ended, _requests_around(tree, models), returned, pairs)
    for exactly in (True, False):
        left = [span for span in executed if span not in pairs]
        waiting = {span: [call for call in calls if not call.taken] for span, calls in by_request.items()}
        for branch in innermost_first(tree, left, {span: calls for span, calls in waiting.items() if calls}):
            matching.pair_branch(branch, exactly)
    unnamed: dict[str, list[RequestedCall]] = {}
    for call in asked:
        if not call.taken:
            unnamed.setdefault(call.name, []).append(call)
    for span in executed:
        if span not in pairs and not span.tool_call_id:
            matching.pair_named_inside(span, unnamed)
    return pairs


def _of_one_id(span: NormalizedSpan, calls: Sequence[RequestedCall]) -> RequestedCall:
    """Return which of the calls that one answer gave one id an execution is of: the one that it fits best, of equal ones the
    first that waits."""

    def unlike(call: RequestedCall) -> tuple[bool, bool, bool]:
        is_other = not is_same_tool(span.tool_name or "", call.name)
        has_others = span.has_arguments and not same_arguments(span.arguments, call.arguments)
        return is_other, has_others, call.taken

    return min(calls, key=unlike)


def _requests_around(tree: Tree, models: Sequence[ModelCall]) -> dict[NormalizedSpan, int]:
    """Return, for every span inside of the span of a request, that request: it may end after the tools it asked for."""
    by_span = {call.span: call.ordinal for call in models}
    return {span: by_span[outer] for span, outer in tree.nearest(by_span.__contains__).items()}


class _Matching:
    """Takes calls for the executions of a run."""

    def __init__(
        self,
        models: Sequence[ModelCall],
        ended: Mapping[int, int],
        inside: Mapping[NormalizedSpan, int],
        returned: Returned,
        pairs: Pairs,
    ) -> None:
        self._models = models
        self._ended = ended
        self._inside = inside
        self._returned = returned
        self._pairs = pairs

    def pair_branch(self, branch: Branch, exactly: bool) -> None:
        """Pair what is in a branch, and take it out of there.

        Of calls that agents asked for side by side, each is first the one of the execution that returned what its agent
        was told. Where more are left and nothing tells them apart, it is not known whose execution each of as many is.
        """
        unclear: list[NormalizedSpan] = []
        for span in branch.executed:
            waiting = _waiting(branch.waiting, span.tool_name or "")
            fitting = self._fitting(span, waiting, exactly, self._inside.get(span, 0))
            alike = self._alike(fitting, waiting) if len(fitting) > 1 else []
            told = [place for place in alike if self._is_result(span, waiting[place])]
            if alike and len(told) != 1:
                unclear.append(span)
            elif fitting:
                self._take(span, waiting, (told or fitting)[0])
        for span in unclear:
            if span in self._pairs:
                continue
            waiting = _waiting(branch.waiting, span.tool_name or "")
            fitting = self._fitting(span, waiting, exactly, self._inside.get(span, 0))
            alike = self._alike(fitting, waiting) if len(fitting) > 1 else []
            same = [each for each in unclear if each not in self._pairs and _is_like(each, span)]
            if alike and len(alike) == len(same):
                for place in reversed(alike):
                    waiting.pop(place).taken = True
                self._pairs.update((each, (None, False)) for each in same)
            elif fitting:
                self._take(span, waiting, fitting[0])
        branch.executed = [span for span in branch.executed if span not in self._pairs]

    def pair_named_inside(self, span: NormalizedSpan, waiting: Mapping[str, list[RequestedCall]]) -> None:
        """Pair an execution with a call of a tool that it names elsewhere than a tool's name stands."""
        calls = _named_inside(span, waiting)
        fitting = self._fitting(span, calls, exactly=False, inside=0)
        if fitting:
            self._take(span, calls, fitting[0])

    def _take(self, span: NormalizedSpan, waiting: list[RequestedCall], place: int) -> None:
        call = waiting.pop(place)
        call.taken = True
        self._pairs[span] = (call, False)

    def _fitting(
        self, span: NormalizedSpan, waiting: Sequence[RequestedCall], exactly: bool, inside: int
    ) -> list[int]:
        """Return the places of those of the next few waiting calls that an execution fits, the best one first.

        With its arguments that is, of several answers that ask for the same, as one that tries again, the last that was
        there by then. By its name alone it rather is one of which the arguments are not known than one that asked with
        others. What runs `inside` of a request was asked for by it, and what an agent runs rather by a request of its own.
        """
        near, began = waiting[:NEAR], max(span.sent.begun_by, 1)
        if not exactly and span.has_arguments:
            unknown = [place for place, call in enumerate(near) if call.arguments is None]
            found = next((place for place in unknown if self._ended[near[place].by] <= began), None)
            if found is not None:
                return [found]
        fitting = [
            place
            for place, call in enumerate(near)
            if (call.by == inside or self._ended[call.by] <= began)
            and (not exactly or not span.has_arguments or same_arguments(span.arguments, call.arguments))
        ]
        if len(fitting) < 2:
            return fitting
        if span.agent_name is not None:
            own = [
                place for place in fitting if self._asking(near[place]).agent_name in (None, span.agent_name)
            ]
            fitting = own or fitting
        if exactly and span.has_arguments:
            fitting.sort(key=lambda place: self._ended[near[place].by], reverse=True)
        return fitting

    def _asking(self, call: RequestedCall) -> NormalizedSpan:
        return self._models[call.by - 1].span

    def _alike(self, fitting: Sequence[int], waiting: Sequence[RequestedCall]) -> list[int]:
        """Return the places of calls that were asked for side by side with the best one, with this one; none where there is
        no such call. They differ by more than their place: one answer that is told twice has one id.
        """
        best = waiting[fitting[0]]
        beside = {
            call.by
            for call in (waiting[place] for place in fitting)
            if call.by != best.by
            and (call.call_id is None or call.call_id != best.call_id)
            and _are_side_by_side(self._asking(call), self._asking(best))
        }
        beside |= {best.by} if beside else set()
        return sorted(place for place in fitting if waiting[place].by in beside)

    def _is_result(self, span: NormalizedSpan, call: RequestedCall) -> bool:
        said = self._returned(call) if span.has_result else None
        return said is not None and said.get("response") in (span.result, unquoted(span.result))


def _are_side_by_side(one: NormalizedSpan, other: NormalizedSpan) -> bool:
    """Tell whether two requests are not one after the other of one agent: they are of two, or ran at the same time."""
    if one.agent_name != other.agent_name:
        return one.agent_name is not None and other.agent_name is not None
    return max(one.sent.started_at, other.sent.started_at) < min(one.sent.until, other.sent.until)


def _is_like(one: NormalizedSpan, other: NormalizedSpan) -> bool:
    """Tell whether two executions are of one tool, with the same arguments."""
    return (one.tool_name, one.has_arguments, one.arguments) == (
        other.tool_name,
        other.has_arguments,
        other.arguments,
    )


def _named_inside(span: NormalizedSpan, waiting: Mapping[str, list[RequestedCall]]) -> list[RequestedCall]:
    """Return the calls that wait for the one tool that a span names in an attribute, whatever its name, or else the one
    call that asked with just the arguments that it has."""
    texts = {value.strip('"') for value in span.sent.attributes.values() if isinstance(value, str)}
    named = [calls for name, calls in waiting.items() if calls and name in texts]
    if len(named) == 1:
        return named[0]
    if named or not span.arguments or semconv.TOOL_NAME in span.sent.attributes:
        return []
    fitting = [
        calls
        for calls in waiting.values()
        for call in calls[:NEAR]
        if call.arguments and same_arguments(span.arguments, call.arguments)
    ]
    return fitting[0] if len(fitting) == 1 and len(fitting[0]) == 1 else []


def _waiting(waiting: Mapping[str, list[RequestedCall]], name: str) -> list[RequestedCall]:
    """Return the calls that wait for a tool of that name, also under the name that the model knows it by."""
    if name in waiting:
        return waiting[name]
    return next((calls for asked, calls in waiting.items() if calls and is_same_tool(name, asked)), [])
