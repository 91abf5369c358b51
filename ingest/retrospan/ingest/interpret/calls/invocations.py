"""Which invocation of its agent each tool call was made in: an agent that is called anew repeats nothing.

An invocation goes on from an earlier one of the same agent where its first prompt holds an answer of that, or a call of it
by an id that no others have. Else it knows nothing of what was done there.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from retrospan.ingest.interpret.calls.calls import Calls, ModelCall, ToolCall
from retrospan.ingest.interpret.messages.message import Message, parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.qualified_ids import is_unique
from retrospan.ingest.interpret.tree.tree import Tree


def read_invocations(tree: Tree, calls: Calls) -> list[int]:
    """Return a number for each tool call: the same for those of invocations that go on from one another. It is 0 for all calls
    of an agent that has some in no span of its own. The messages of the calls must have their numbers.
    """
    if len(calls.tools) < 2:
        return [0] * len(calls.tools)
    around = _Around(tree)
    numbers: dict[NormalizedSpan, int] = {}
    fresh = count(1)
    answered: dict[tuple[str | None, object], int] = {}
    for call in calls.models:
        outer = around.invocation_of(call.span)
        if outer is None:
            continue
        agent = call.span.agent_name
        if outer not in numbers:
            known = (answered.get((agent, said)) for said in _told(call))
            numbers[outer] = next((number for number in known if number), 0) or next(fresh)
        for said in (*call.output_values, *_ids(call.span.output)):
            answered.setdefault((agent, said), numbers[outer])
    found: list[int] = []
    apart: set[str | None] = set()
    acting = [_acting(tool, calls) for tool in calls.tools]
    for span in acting:
        outer = around.invocation_of(span) if span is not None else None
        if outer is None:
            apart.add(span.agent_name if span is not None else None)
        found.append(0 if outer is None else numbers.get(outer) or numbers.setdefault(outer, next(fresh)))
    named = (span.agent_name if span is not None else None for span in acting)
    return [0 if agent in apart else number for agent, number in zip(named, found, strict=True)]


def _acting(tool: ToolCall, calls: Calls) -> NormalizedSpan | None:
    """Return the span of an execution, else that of the request which asked for it."""
    if tool.span is not None:
        return tool.span
    return calls.models[tool.asked.by - 1].span if tool.asked is not None else None


def _told(call: ModelCall) -> Iterable[object]:
    """Return what a prompt holds by which an earlier answer can be known, the latest first."""
    return (*reversed(call.input_values), *_ids(call.input))


def _ids(messages: Iterable[Message]) -> list[str]:
    """Return the ids of the calls in messages that no other calls have."""
    ids = (part.get("id") for message in messages for part in parts_of(message, "tool_call"))
    return [call_id for call_id in ids if call_id and is_unique(call_id)]


class _Around:
    """The spans of agents around the acts of a run."""

    def __init__(self, tree: Tree) -> None:
        self._agents = tree.nearest(lambda span: span.operation == "agent")
        self._tools = tree.nearest(lambda span: span.operation == "tool")

    def invocation_of(self, span: NormalizedSpan) -> NormalizedSpan | None:
        """Return the span of the invocation that an act belongs to: the outermost of its agent, up to the tool in which the
        agent was called."""
        at = self._agents.get(span)
        while at is not None and at.agent_name != span.agent_name:
            at = self._agents.get(at)
        while at is not None:
            above = self._agents.get(at)
            if (
                above is None
                or above.agent_name != at.agent_name
                or self._tools.get(at) != self._tools.get(above)
            ):
                return at
            at = above
        return None
