"""The steps of a run: each leaf act, numbered from 1 in order."""

from __future__ import annotations

from dataclasses import dataclass

from retrospan.ingest.interpret.assembly.calls import Calls, ModelCall, ToolCall
from retrospan.ingest.interpret.assembly.states import State, States
from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.schemas.attributes import STEP_INDEX, STEP_NAME

_LEAVES = {"retrieval": "retrieval", "memory": "memory"}


@dataclass(slots=True)
class Step:
    number: int
    kind: str  # model | tool | retrieval | memory | step | node
    name: str
    reading: NormalizedSpan
    model: ModelCall | None = None
    tool: ToolCall | None = None
    before: State | None = None
    after: State | None = None

    @property
    def status(self) -> str:
        if self.tool is not None:
            return self.tool.status
        return "incomplete" if self.reading.interrupted else "error" if self.reading.failed else "ok"


def read_steps(tree: Tree, calls: Calls, states: States) -> list[Step]:
    """Return the steps in order. A framework's node is one only when nothing inside it is, and it changed the state."""
    models = {id(call.reading): call for call in calls.models}
    tools = {id(call.reading): call for call in calls.tools if call.reading is not None}
    busy = tree.around(r for r in tree.readings if r.operation in ("inference", "tool", *_LEAVES))
    steps: list[Step] = []
    for reading in tree.readings:
        step = _step_of(reading, models, tools)
        if step is None and id(reading) not in busy:
            step = _own_step(reading, states)
        if step is not None:
            step.number = len(steps) + 1
            steps.append(step)
    return steps


def _step_of(
    reading: NormalizedSpan, models: dict[int, ModelCall], tools: dict[int, ToolCall]
) -> Step | None:
    model, tool = models.get(id(reading)), tools.get(id(reading))
    if model is not None:
        return Step(0, "model", reading.agent_name or "", reading, model=model)
    if tool is not None:
        return Step(0, "tool", tool.name, reading, tool=tool)
    kind = _LEAVES.get(reading.operation)
    return Step(0, kind, reading.span.name, reading) if kind else None


def _own_step(reading: NormalizedSpan, states: States) -> Step | None:
    attributes = reading.span.attributes
    if STEP_INDEX in attributes or STEP_NAME in attributes:
        name = attributes.get(STEP_NAME)
        return Step(0, "step", name if isinstance(name, str) else reading.span.name, reading)
    if reading.is_node and reading.node is not None and states.changed(reading):
        return Step(0, "node", reading.node.name, reading)
    return None
