"""What a span inherits: agent and conversation from its ancestors, the framework's node it runs in."""

from __future__ import annotations

from dataclasses import replace

from retrospan.ingest.interpret.tree import Tree


def inherit(tree: Tree) -> None:
    """Complete the readings of a run from the spans around them, in place."""
    _mark_nodes(tree)
    conversation = next((r.conversation for r in tree.readings if r.conversation), None)
    for reading in tree.readings:
        above = list(tree.ancestors(reading))
        if reading.agent_name is None:
            reading.agent_name = next((r.agent_name for r in above if r.agent_name), None)
        reading.conversation = reading.conversation or next(
            (r.conversation for r in above if r.conversation), conversation
        )
        if reading.task is None:
            reading.task = next((r.task for r in above if r.task is not None), None)
        if reading.node is None:
            node = next((r.node for r in above if r.node is not None), None)
            reading.node = replace(node) if node else None


def _mark_nodes(tree: Tree) -> None:
    """Tell the span of a framework's node from spans inside the node: its parent does not run in the same place."""
    for reading in tree.readings:
        if reading.operation != "step" or reading.node is None:
            continue
        parent = tree.parent(reading)
        inside = (
            parent is not None
            and parent.node is not None
            and (parent.node.place, parent.node.name, parent.node.step)
            == (reading.node.place, reading.node.name, reading.node.step)
        )
        reading.is_node = not inside
        if inside:
            reading.operation = "other"
