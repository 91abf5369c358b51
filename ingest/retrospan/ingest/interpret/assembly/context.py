"""What a span inherits: agent and conversation from its ancestors, the framework's node it runs in."""

from __future__ import annotations

from dataclasses import replace

from retrospan.ingest.interpret.assembly.tree import Tree


def inherit(tree: Tree) -> None:
    """Complete the readings of a run from the spans around them, in place."""
    _mark_nodes(tree)
    conversation = next((r.conversation for r in tree.readings if r.conversation), None)
    named = tree.nearest(lambda reading: bool(reading.agent_name))
    for reading in tree.readings:
        if reading.agent_name is None and id(reading) in named:
            reading.agent_name = named[id(reading)].agent_name
    for reading in tree.top_down():
        # What is above the parent, the parent has by now.
        parent = tree.parent(reading)
        reading.conversation = reading.conversation or (parent.conversation if parent else conversation)
        if reading.task is None:
            reading.task = parent.task if parent else None
        if reading.node is None:
            node = parent.node if parent else None
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
