"""Which agent is at work in a step, as the event says that the step is given or returns.

A workflow of several agents has one span around the steps of all. Its events end with the agent whose turn it is
(`current_agent_name`, of LlamaIndex); a step between that says nothing is of the agent that was named last.
"""

from __future__ import annotations

import re

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree

#: The last field of an event, as JSON or as Python prints it; what somebody said stands before it.
_LAST = re.compile(r"current_agent_name(?:=\\*'|\\*\"\s*:\s*\\*\")(?P<name>[^'\"\\]+)\\*['\"][)}\"\s]*\Z")
_FIELD, _LONGEST = "current_agent_name", 200
#: How an object begins, printed or in JSON.
_OBJECT = re.compile(r"\{|[A-Z]\w*\(")
_OF_OTHERS = ("inference", "tool", "agent")


def name_agents_at_work(tree: Tree) -> None:
    """Name the agents of such steps, and of the span around them where it is one agent's, in place."""
    told = {
        span: name
        for span in tree.spans
        if span.operation not in _OF_OTHERS and not span.agent_name and (name := _at_work(span))
    }
    if not told:
        return
    latest: dict[NormalizedSpan, str] = {}
    named: dict[NormalizedSpan, set[str]] = {}
    for span in tree.spans:
        around = tree.parent(span)
        if around is None:
            continue
        if span in told:
            latest[around] = told[span]
            named.setdefault(around, set()).add(told[span])
        if around in latest and not span.agent_name:
            span.agent_name = latest[around]
    for around, names in named.items():
        if len(names) == 1 and around.agent_name in (None, around.sent.name):
            around.agent_name = next(iter(names))


def _at_work(span: NormalizedSpan) -> str | None:
    """Return the agent that an event of a span ends with."""
    for value in span.sent.attributes.values():
        if not isinstance(value, str) or _FIELD not in value[-_LONGEST:] or not _OBJECT.match(value):
            continue
        found = _LAST.search(value, len(value) - min(len(value), _LONGEST))
        if found:
            return found["name"]
    return None
