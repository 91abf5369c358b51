"""The spans of a LangGraph graph: one for an invocation, one for each try of a node, with the state around it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, cast

from opentelemetry import context
from opentelemetry.context import Context
from opentelemetry.trace import Span, format_trace_id

from retrospan.exporter.hooks.wrapping import beside
from retrospan.exporter.recording.encoding import json_text
from retrospan.exporter.recording.lineage import RunReference, link
from retrospan.exporter.recording.scopes import new_run_id, scope_in, with_run, with_step
from retrospan.exporter.recording.spanning import Spanning, fail
from retrospan.exporter.recording.states import NOTHING, put
from retrospan.exporter.recording.telling import say, send, tell_begun
from retrospan.schemas.attributes import (
    APPROVAL,
    APPROVAL_DECISION,
    APPROVAL_EXPLANATION,
    ATTEMPT,
    CHECKPOINT,
    CHECKPOINT_CONTENT,
    CHECKPOINT_ID,
    CHECKPOINT_PARENT,
    CHECKPOINT_TRIGGER,
    FORK_PATCH,
    FORK_STEP,
    RUN_ID,
    RUN_ORIGIN,
)

_GRAPH = context.create_key("retrospan-langgraph")
_FOREIGN = (
    ("openinference.instrumentation.langchain", "LangChainInstrumentor"),
    ("opentelemetry.instrumentation.langchain", "LangchainInstrumentor"),
)


class Graph(Spanning):
    """One invocation of a graph. It is a separate run unless the program or an enclosing graph is already in one."""

    is_told_at_once = False

    def __init__(self, graph: Any, config: Mapping[str, Any] | None) -> None:
        super().__init__()
        self._graph = graph
        self._config = config or {}
        self.keys: list[str] = []
        """The keys of the graph's state."""
        self.nodes_are_seen = other_spans_of_nodes()
        """Whether another instrumentation makes a span of each node, with the state on it."""
        self.run_id = self.origin = ""
        self._begins_run = self._is_told = False
        self._waiting: list[Node] = []

    def named(self) -> str:
        return f"invoke_workflow {self._name()}"

    def _name(self) -> str:
        name = self._config.get("run_name") or getattr(self._graph, "name", None)
        return name if isinstance(name, str) else "LangGraph"

    def attributes(self) -> dict[str, Any]:
        keys = self._graph.stream_channels_list
        self.keys = [key for key in keys if isinstance(key, str) and not key.startswith("__")]
        said: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": self._name(),
        }
        if self._conversation:
            said["gen_ai.conversation.id"] = self._conversation
        return said

    @property
    def _conversation(self) -> str:
        thread = (self._config.get("configurable") or {}).get("thread_id")
        return "" if thread is None else str(thread)

    def inside(self, at: Context) -> Context:
        given = scope_in(at)
        self._begins_run = given is None or not given.run_id
        if given is not None and given.run_id:
            self.run_id, self.origin = given.run_id, given.origin
        else:
            trace_id = self.span.get_span_context().trace_id
            is_root = getattr(self.span, "parent", None) is None
            self.run_id = self.origin = format_trace_id(trace_id) if is_root else new_run_id()
            at = with_run(at, self.run_id, self.origin, conversation=self._conversation)
        return context.set_value(_GRAPH, self, at)

    def begun(self) -> None:
        if self._begins_run:
            self.span.set_attributes({RUN_ID: self.run_id, RUN_ORIGIN: self.origin})

    def ended(self, error: BaseException | None) -> None:
        self.settle(None)

    def again(self) -> Graph:
        return Graph(self._graph, self._config)

    def continued(self, at: Context) -> Context:
        """Return the context with this run in it, with the origin that it turned out to have."""
        given = scope_in(at)
        agent, conversation = (
            (given.agent, given.conversation) if given is not None else ("", self._conversation)
        )
        return with_run(at, self.run_id, self.origin, agent, conversation)

    @property
    def reference(self) -> str:
        """The text that names this run in the metadata of its checkpoints."""
        at = self.span.get_span_context()
        return str(RunReference(self.run_id, self.origin, at.trace_id, at.span_id))

    def set_out(self) -> None:
        """Say that the invocation has begun, once it is known what it descends from."""
        if not self._is_told:
            self._is_told = True
            tell_begun(self.span)

    def descend(self, kind: str, parent: RunReference, step: object = None, patch: object = NOTHING) -> None:
        """Record that this run continues from a checkpoint of another one."""
        if not self._begins_run or parent.run_id == self.run_id:
            return
        link(self.span, kind, parent)
        if kind == "resumes":
            self.origin = parent.origin
            self.span.set_attribute(RUN_ORIGIN, self.origin)
        if kind == "forks" and isinstance(step, int):
            self.span.set_attribute(FORK_STEP, step)
        if patch is not NOTHING:
            self.span.set_attribute(FORK_PATCH, json_text(patch))

    def checkpoint(self, id: str, trigger: str, parent: str | None) -> None:
        said = {CHECKPOINT_ID: id, CHECKPOINT_TRIGGER: trigger, CHECKPOINT_PARENT: parent}
        self._say(CHECKPOINT, said)

    def content(self, id: str, content: object) -> None:
        """Record what a checkpoint holds: enough to go on from it."""
        if self.span.is_recording():
            send(self.span, CHECKPOINT_CONTENT, {CHECKPOINT_ID: id, CHECKPOINT_CONTENT: json_text(content)})

    def answered(self, answer: object, asked: object) -> None:
        """Record the answer to the interrupt that the graph waited at."""
        decision = answer if isinstance(answer, str) else json_text(answer)
        said = {APPROVAL_DECISION: decision}
        if asked is not None:
            said[APPROVAL_EXPLANATION] = json_text({"asked": asked})
        self._say(APPROVAL, said)

    def _say(self, event: str, said: Mapping[str, Any]) -> None:
        if self.span.is_recording():
            say(self.span, event, said)

    def interrupted(self, error: BaseException) -> None:
        mark_interrupted(self.span, error)

    def wait(self, node: Node) -> None:
        """Keep the span of a node that ended well until the superstep's writes are applied."""
        self._waiting.append(node)

    def settle(self, state: Mapping[str, object] | None) -> None:
        """End the spans of the nodes of a superstep, with the state after it where it is known."""
        waiting, self._waiting = self._waiting, []
        for node in waiting:
            node.settle(NOTHING if state is None else state)


class Node(Spanning):
    """One try of a node. Its state before is what the graph holds; the state after is known with the superstep's end."""

    def __init__(self, graph: Graph, task: Any, config: Mapping[str, Any], attempt: int) -> None:
        super().__init__()
        self._graph = graph
        self._task = task
        self._config = config
        self._attempt = attempt
        self._ended_at = 0

    def named(self) -> str:
        return str(self._task.name)

    def again(self) -> Node:
        return Node(self._graph, self._task, self._config, self._attempt)

    def attributes(self) -> dict[str, Any]:
        known = self._config.get("metadata") or {}
        names = (
            "langgraph_node",
            "langgraph_step",
            "langgraph_checkpoint_ns",
            "langgraph_triggers",
            "thread_id",
        )
        metadata = {name: known[name] for name in names if name in known}
        metadata.setdefault("langgraph_node", self.named())
        said = {"gen_ai.operation.name": "run_step", "metadata": json_text(metadata)}
        return {**said, ATTEMPT: self._attempt} if self._attempt > 1 else said

    def inside(self, at: Context) -> Context:
        return with_step(self._graph.continued(at), self.named())

    def begun(self) -> None:
        if self.span.is_recording():
            read = self._config["configurable"]["__pregel_read"]
            put(self.span, before=read(self._graph.keys, False), at_edge=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        beside("a node's end", self._leave, error)
        if self._token is not None:
            context.detach(self._token)
            self._token = None

    def _leave(self, error: BaseException | None) -> None:
        self._ended_at = time.time_ns()
        if error is None:
            self._graph.wait(self)
        elif is_interrupt(error):
            mark_interrupted(self.span, error)
            self.settle(NOTHING)
        elif any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__):
            self._graph.wait(self)  # a command to the graph above: the node did its work
        else:
            fail(self.span, error)
            self.settle(NOTHING)

    def settle(self, after: object) -> None:
        put(self.span, after=after, at_edge=True)
        self.span.end(end_time=self._ended_at)


def current_graph() -> Graph | None:
    """Return the running graph; None if it is not recorded."""
    found = context.get_value(_GRAPH)
    return found if isinstance(found, Graph) and found.span.is_recording() else None


def is_interrupt(error: BaseException) -> bool:
    """Tell whether an exception only ends a node early, to wait for a person."""
    return any(kind.__name__ in ("GraphInterrupt", "NodeInterrupt") for kind in type(error).__mro__)


def mark_interrupted(span: Span, error: BaseException) -> None:
    """Mark a span as waiting for a person, with the question."""
    kind = type(error)
    asked = [getattr(item, "value", None) for item in (error.args[0] if error.args else ())]
    said = {"exception.type": f"{kind.__module__}.{kind.__qualname__}", "exception.message": json_text(asked)}
    span.add_event("exception", said)


def other_spans_of_nodes() -> bool:
    """Tell whether an instrumentation that makes a span of each node, with its state, is at work."""
    for module, name in _FOREIGN:
        found = sys.modules.get(module)
        if found is not None:
            instrumentor = cast(Any, getattr(found, name))()
            if getattr(instrumentor, "is_instrumented_by_opentelemetry", False):
                return True
    return os.environ.get("LANGSMITH_OTEL_ENABLED", "").lower() == "true"
