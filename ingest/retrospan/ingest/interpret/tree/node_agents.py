"""Which nodes of a graph are agents: those that are graphs themselves.

What runs in any other node is done by the agent around, though some instrumentations call each node an agent, after itself,
and whatever a framework runs in it (`RunnableSequence`).
"""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.normalize.normalized_span import FrameworkNode, NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree

#: What names the agent around, where the graph there has no name of its own.
_UNNAMED = frozenset((None, "LangGraph"))


def name_node_agents(tree: Tree, inside: Sequence[NormalizedSpan]) -> None:
    """Name agents after nodes that are graphs, and not after others or what runs `inside` of these, in place.

    A node that is a graph, in one without a name, is the agent where nothing in it names one. What a tool runs in a node is
    no graph of that.
    """
    nodes = [(span, span.node) for span in tree.spans if span.is_node and span.node]
    if not nodes:
        return
    above = tree.nearest(lambda span: span.is_node or span.operation == "tool")
    graphs = {above[span] for span, node in nodes if span in above and _is_of(node, above[span].node)}
    naming = tree.around(span for span in tree.spans if span.agent_name) if graphs else set[NormalizedSpan]()
    for span, node in nodes:
        if span not in graphs and span.agent_name == node.name:
            span.agent_name = None
        elif span in graphs and not span.agent_name and node.place and span not in naming:
            around = {each.agent_name for each in tree.ancestors(span)}
            span.agent_name = node.name if around <= _UNNAMED else None
    called = [
        span for span in inside if span.agent_name and span.sent.name == f"invoke_agent {span.agent_name}"
    ]
    holding = tree.around(span for span, _ in nodes) if called else set[NormalizedSpan]()
    for span in called:
        span.agent_name = span.agent_name if span in holding else None


def _is_of(node: FrameworkNode, graph: FrameworkNode | None) -> bool:
    """Tell whether a node is of the graph that another one is, as far as their places tell it."""
    if graph is None or node.name == graph.name:
        return False
    return not graph.place or (node.place or "").startswith(f"{graph.place}|")
