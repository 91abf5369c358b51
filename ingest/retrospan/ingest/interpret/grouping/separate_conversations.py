"""Several conversations in one trace: a batch, or a loop of a worker, around runs of one agent that have nothing else in common.

The spans are one run, for nothing that is said cuts them apart; but no one conversation, question or answer is the run's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.messages.message import text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue
from retrospan.ingest.interpret.tree.tree import Tree

#: What is known of one conversation, and not of several.
_OF_ONE = ("conversation_id", "input", "output")


@dataclass(frozen=True, slots=True)
class SeparateConversations:
    """The outermost agents of a run, each in a conversation that it states, and not all in the same."""

    agents: Sequence[NormalizedSpan]
    ids: Sequence[str]

    @property
    def any_failed(self) -> bool:
        """Tell whether the agent failed in any of them: none of the others got over that."""
        return any(agent.failed for agent in self.agents)

    def problems(self) -> Iterator[ParseIssue]:
        """Yield why the run has no conversation, no input and no output."""
        reason = f"agents in {len(self.ids)} conversations that they state ran beside each other: none is the run's"
        for field in _OF_ONE:
            yield issue(self.agents[0].sent.span_id, field, ", ".join(self.ids), reason)


def separate_conversations(tree: Tree) -> SeparateConversations | None:
    """Return the conversations of a run that holds several; asked before spans inherit the conversation of others.

    Only where all work of the run is done by spans of one agent beside each other, of which each states its
    conversation, nothing around them states one, and none goes on with another. Sub-agents in conversations of their own
    are inside another agent, a workflow or a step of one; agents of several names may work for one another.
    """
    if len({span.conversation for span in tree.spans} - {None}) < 2:
        return None
    above = tree.nearest(lambda span: span.operation != "other")
    outermost = [span for span in tree.spans if span.operation != "other" and span not in above]
    ids = [*dict.fromkeys(span.conversation for span in outermost if span.conversation)]
    is_one_agent = len({_name_of(span) for span in outermost}) == 1
    if len(ids) < 2 or not is_one_agent or any(map(_is_no_conversation, outermost)):
        return None
    if len({span.sent.trace_id for span in tree.spans}) > 1:
        return None
    if any(around.conversation for around in tree.around(outermost)):
        return None
    return SeparateConversations(outermost, ids) if not _go_on(tree, outermost) else None


def _go_on(tree: Tree, agents: Sequence[NormalizedSpan]) -> bool:
    """Tell whether one of the agents was given what another had said: some name each answer as a conversation of its own."""
    own = tree.nearest({*agents}.__contains__)
    said: dict[str, set[NormalizedSpan]] = {}
    for span in tree.spans:
        for message in span.output if span in own else ():
            if text := text_of(message):
                said.setdefault(text, set()).add(own[span])
    return any(
        span.previous_response_id is not None
        or any(said.get(text_of(message), set()) - {own[span]} for message in span.input)
        for span in tree.spans
        if span in own
    )


def _is_no_conversation(span: NormalizedSpan) -> bool:
    return span.operation != "agent" or not span.conversation


def _name_of(span: NormalizedSpan) -> str:
    return span.agent_name or span.sent.name
