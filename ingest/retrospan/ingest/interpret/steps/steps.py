"""The steps of a run: each leaf act, numbered from 1 in order."""

from __future__ import annotations

from retrospan.ingest.interpret.calls.calls import Calls, ModelCall, ToolCall
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.interpret.steps.states import States
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.schemas.attributes import STEP_INDEX, STEP_NAME

_LEAVES = {"retrieval": "retrieval", "memory": "memory"}
_OF_STEPS = ("inference", "tool", *_LEAVES)


def read_steps(tree: Tree, calls: Calls, states: States) -> list[RunStep]:
    """Return the steps in order. A framework's node is one only when nothing inside it is, and it changed the state."""
    models = {call.span: call for call in calls.models}
    tools = {call.span: call for call in calls.tools if call.span is not None}
    busy: set[NormalizedSpan] | None = None
    steps: list[RunStep] = []
    for span in tree.spans:
        step = _step_of(span, models, tools)
        if step is None and _may_be_step(span):
            if busy is None:
                busy = tree.around(r for r in tree.spans if r.operation in _OF_STEPS)
            step = _own_step(span, states) if span not in busy else None
        if step is not None:
            step.number = len(steps) + 1
            steps.append(step)
    return steps


def _step_of(
    span: NormalizedSpan, models: dict[NormalizedSpan, ModelCall], tools: dict[NormalizedSpan, ToolCall]
) -> RunStep | None:
    model, tool = models.get(span), tools.get(span)
    if model is not None:
        return RunStep(0, "model", span.agent_name or "", span, model=model)
    if tool is not None:
        return RunStep(0, "tool", tool.name, span, tool=tool)
    kind = _LEAVES.get(span.operation)
    return RunStep(0, kind, span.sent.name, span) if kind else None


def _may_be_step(span: NormalizedSpan) -> bool:
    attributes = span.sent.attributes
    return span.is_node or STEP_INDEX in attributes or STEP_NAME in attributes


def _own_step(span: NormalizedSpan, states: States) -> RunStep | None:
    attributes = span.sent.attributes
    if STEP_INDEX in attributes or STEP_NAME in attributes:
        name = attributes.get(STEP_NAME)
        return RunStep(0, "step", name if isinstance(name, str) else span.sent.name, span)
    if span.is_node and span.node is not None and states.changed(span):
        return RunStep(0, "node", span.node.name, span)
    return None
