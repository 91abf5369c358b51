"""What a span inherits: agent and conversation from its ancestors, the framework's node it runs in."""

from __future__ import annotations

import re
from dataclasses import replace

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.agents_at_work import name_agents_at_work
from retrospan.ingest.interpret.tree.node_agents import name_node_agents
from retrospan.ingest.interpret.tree.tree import Tree

#: What the spans of all agents are called: the name of none.
_ANY_AGENT = re.compile(
    r"(?i:(?:[^a-z]|agents?|assistant|call|chain|executor|generate|graph|interaction|invoke|run|session|step|stream|task"
    r"|text|turn|unknown|workflow)*)|[A-Z]\w*Agent(?:Executor)?|.*[./(\[].*"
)
#: How the span of a tool, or what that was given, names the agent below the tool.
_SUBAGENT = re.compile(r"(?:^|\.)sub_?agent(?:[._]?(?:name|type))?$", re.IGNORECASE)


def inherit(tree: Tree) -> None:
    """Complete the spans of a run from those around them, in place."""
    _mark_nodes(tree)
    name_agents_at_work(tree)
    _name_agents(tree)
    conversation = next((r.conversation for r in tree.spans if r.conversation), None)
    below = {span: name for span in tree.spans if span.operation == "tool" and (name := _subagent(span))}
    named = tree.nearest(lambda span: bool(span.agent_name) or span in below)
    for span in [span for span in tree.spans if span.agent_name is None and span in named]:
        around = named[span]
        is_same = span.operation == "tool" and span.tool_call_id == around.tool_call_id is not None
        span.agent_name = below[around] if around in below and not is_same else around.agent_name
    for span in tree.top_down():
        # What is above the parent, the parent has by now.
        parent = tree.parent(span)
        span.conversation = span.conversation or (parent.conversation if parent else conversation)
        if span.task is None:
            span.task = parent.task if parent else None
        if span.node is None:
            node = parent.node if parent else None
            span.node = replace(node) if node else None


def _subagent(span: NormalizedSpan) -> str | None:
    """Return the agent that works below a tool, as its attributes or its arguments name it."""
    arguments = span.arguments if isinstance(span.arguments, dict) else {}
    said = (
        value
        for key, value in (*span.sent.attributes.items(), *arguments.items())
        if isinstance(value, str) and value and _SUBAGENT.search(key)
    )
    return next(said, None)


def _mark_nodes(tree: Tree) -> None:
    """Tell the span of a framework's node from spans inside the node: its parent does not run in the same place."""
    inner: list[NormalizedSpan] = []
    for span in tree.spans:
        if span.operation != "step" or span.node is None:
            continue
        parent = tree.parent(span)
        inside = parent is not None and parent.node == span.node
        span.is_node = not inside
        if inside:
            span.operation = "other"
            inner.append(span)
    name_node_agents(tree, inner)


def _name_agents(tree: Tree) -> None:
    """Name agents after their spans, in a run in which no agent's span states a name."""
    agents = [span for span in tree.spans if span.operation == "agent"]
    if not any(span.agent_name for span in agents):
        for span in agents:
            name = re.sub(r"^(?:invoke|run)_agent |[. ]run$", "", span.sent.name)
            span.agent_name = None if _ANY_AGENT.fullmatch(name) else name
