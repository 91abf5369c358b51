"""The state around the steps: stated by the agent, given by its framework, else the messages. Exact, or not known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.key import text_of_attribute
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.steps.patches import apply_patches
from retrospan.ingest.interpret.steps.run_step import RunStep, State
from retrospan.ingest.interpret.steps.values import Values
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.schemas.attributes import STATE_SCHEMA
from retrospan.schemas.hashing import hash_of, hash_of_text


@dataclass(frozen=True, slots=True)
class _Around:
    """The state around a span, as far as it is known, and how."""

    source: str
    before: dict[str, object] | None
    after: dict[str, object] | None
    schema: str | None = None


class States:
    """What spans say of the state, before any step is numbered."""

    def __init__(self, tree: Tree, values: Values, problems: ParseIssues) -> None:
        self._tree = tree
        self._values = values
        self._around: dict[NormalizedSpan, _Around] = {}
        self._read_nodes()
        apply_patches(tree.spans, problems)
        for span in tree.spans:
            if span.state_before is not None or span.state_after is not None:
                schema = text_of_attribute(span.sent.attributes.get(STATE_SCHEMA))
                self._around[span] = _Around("explicit", span.state_before, span.state_after, schema)

    def changed(self, span: NormalizedSpan) -> bool:
        """Tell whether a span's own state is known to differ after it."""
        around = self._around.get(span)
        if around is None or around.before is None or around.after is None:
            return False
        comparable = self._values.comparable
        return hash_of(comparable(around.before)) != hash_of(comparable(around.after))

    def _read_nodes(self) -> None:
        """Give each framework node its input as the state before, and the next node's input as the state after.

        A node's input counts as the state only when it has the shape of the graph's state (a node started with its
        own argument, such as a list of tool calls, has none). A superstep is what runs at one framework step.
        """
        graphs: dict[tuple[str, str], list[NormalizedSpan]] = {}
        for span in self._tree.spans:
            if span.is_node:
                graphs.setdefault((span.sent.trace_id, span.sent.parent_span_id), []).append(span)
        for nodes in graphs.values():
            graph = self._tree.parent(nodes[0])
            keys = _keys(graph.framework_input if graph else None) | _keys(
                graph.framework_output if graph else None
            )
            supersteps: dict[int, list[NormalizedSpan]] = {}
            for position, node in enumerate(nodes):
                step = node.node.step if node.node and node.node.step is not None else position
                supersteps.setdefault(step, []).append(node)
            order = sorted(supersteps)
            for step, following in zip(order, [*order[1:], None], strict=True):
                after = (
                    self._state_in(supersteps[following], keys)
                    if following is not None
                    else _final(graph, keys)
                )
                for node in supersteps[step]:
                    before = self._state_in([node], keys)
                    if before is not None or after is not None:
                        left = None if node.failed or node.interrupted else after
                        self._around[node] = _Around("framework", before, left)

    def _state_in(self, nodes: list[NormalizedSpan], keys: set[str]) -> dict[str, object] | None:
        """Return the state that one of the nodes began with."""
        for node in nodes:
            given = node.framework_input
            if isinstance(given, dict) and given and (not keys or set(given) <= keys):
                return given
        return None

    def assign(self, steps: list[RunStep]) -> None:
        """Give the steps their states: from the nearest span around them that knows one, else from the messages.

        The state before goes to every step inside that began while it held, the state after to the last.
        """
        holders: dict[NormalizedSpan, list[RunStep]] = {}
        if not self._around:
            self._assign_messages(steps)
            return
        nearest = self._tree.nearest(lambda span: span in self._around)
        for step in steps:
            holder = step.span if step.span in self._around else nearest.get(step.span)
            if holder is not None:
                holders.setdefault(holder, []).append(step)
        for holder, inside in holders.items():
            around = self._around[holder]
            before = self._state(around, around.before)
            for step in inside if around.source == "framework" else inside[:1]:
                step.before = before
            inside[-1].after = self._state(around, around.after)

    def _state(self, around: _Around, state: dict[str, object] | None) -> State | None:
        if state is None:
            return None
        numbers = tuple(self._values.other(value) for value in state.values())
        return _make(around.source, tuple(state), numbers, self._values, around.schema)

    def _assign_messages(self, steps: list[RunStep]) -> None:
        """Make the messages the state: a model call began with its input and ended with its answer added; a tool began there."""
        ended: dict[int, State] = {}
        for step in steps:
            if step.model is not None:
                step.before, step.after = self._said(step.model)
                ended[step.model.ordinal] = step.after
            elif step.tool is not None and step.tool.asked is not None:
                step.before = ended.get(step.tool.asked.by)

    def _said(self, call: ModelCall) -> tuple[State, State]:
        """Return the state before a call, and the one after it."""
        span, values = call.span, self._values
        keys, numbers = ["messages"], [values.list(call.input_values)]
        if span.system:
            keys.append("system")
            numbers.append(values.other(span.system))
        if span.tool_definitions is not None:
            keys.append("tools")
            numbers.append(values.other(span.tool_definitions))
        beside = "".join(
            f',"{key}":"{values.hash(number)}"' for key, number in zip(keys[1:], numbers[1:], strict=True)
        )
        after = [values.list([*call.input_values, *call.output_values]), *numbers[1:]]
        before, after_it = (
            State("messages", tuple(keys), tuple(each), self._hash(each[0], beside))
            for each in (numbers, after)
        )
        return before, after_it

    def _hash(self, messages: int, beside: str) -> str:
        """Return the hash of an object of hashes, whose names are in order: it is known how these are written."""
        return hash_of_text(f'{{"messages":"{self._values.hash(messages)}"{beside}}}')


def _make(
    source: str, keys: tuple[str, ...], numbers: tuple[int, ...], values: Values, schema: str | None = None
) -> State:
    pairs = {key: values.hash(number) for key, number in zip(keys, numbers, strict=True)}
    return State(source, keys, numbers, hash_of(pairs), schema)


def _keys(value: object) -> set[str]:
    return {key for key in value if isinstance(key, str)} if isinstance(value, dict) else set()


def _final(graph: NormalizedSpan | None, keys: set[str]) -> dict[str, object] | None:
    """Return the state a graph ended with: its output, unless it failed or waits for someone."""
    if graph is None or graph.failed or graph.interrupted or not isinstance(graph.framework_output, dict):
        return None
    state = graph.framework_output
    return None if any(key.startswith("__") for key in state) else state


@dataclass(slots=True)
class Change:
    step: int
    key: str
    value: int
    changed_at_step: int
    span_id: str


def read_changes(steps: Iterable[RunStep], values: Values) -> list[Change]:
    """Return, per key, where its value differs from the last state known; after the last step counts as one more step."""
    changes: list[Change] = []
    held: dict[str, tuple[str, int]] = {}
    last: RunStep | None = None
    for step in steps:
        if step.before is not None:
            changes += _differences(
                held, step.before, step.number, step.number - 1, step.span.sent.span_id, values
            )
        last = step
    if last is not None and last.after is not None:
        changes += _differences(
            held, last.after, last.number + 1, last.number, last.span.sent.span_id, values
        )
    return changes


def _differences(
    held: dict[str, tuple[str, int]], state: State, step: int, changed_at: int, span_id: str, values: Values
) -> list[Change]:
    now = dict(zip(state.keys, state.values, strict=True))
    found = []
    for key, number in now.items():
        mark = (values.hash(number), number)
        if held.get(key) != mark:
            same = key in held and held[key][0] == mark[0]
            held[key] = mark
            if not same:
                found.append(Change(step, key, number, changed_at, span_id))
    for key in [key for key in held if key not in now]:
        del held[key]
        found.append(Change(step, key, 0, changed_at, span_id))
    return found
