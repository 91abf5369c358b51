"""LangGraph: the full state before and after each node, checkpoints and their parents, interrupts, resumes and forks.

Each invocation of a graph gets a span, and so does each attempt of a node, unless another instrumentation already
creates spans for nodes; then only what it lacks is added. The run is written into the checkpoint's metadata
(`retrospan_run`), so that a resume in another process, days later, finds its parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from retrospan.exporter.hooks import checkpoints
from retrospan.exporter.hooks.graphs import Graph, Node, current_graph, is_interrupt
from retrospan.exporter.hooks.wrapping import Wrappings, beside
from retrospan.exporter.recording.encoding import json_value
from retrospan.exporter.recording.lineage import RunReference
from retrospan.exporter.recording.states import NOTHING

#: The key in a checkpoint's metadata under which the run that made it is named.
METADATA_KEY = "retrospan_run"
#: How far up the chain of edited checkpoints the run that made the first is looked for.
_MAX_EDITS = 20

_WRAPPED = Wrappings()


def install() -> None:
    """Record every graph that runs from now on, in this process. Harmless when installed.

    Raises:
        ImportError, AttributeError: LangGraph is not there, or is a version without what the hook needs; then nothing
            is installed.
    """
    if _WRAPPED.there:
        return
    from langgraph.pregel import _loop, _runner, main

    try:
        _WRAPPED.wrap(main.Pregel, "stream", _invoked)
        _WRAPPED.wrap(main.Pregel, "astream", _invoked)
        _WRAPPED.wrap(_loop.SyncPregelLoop, "__enter__", _entered)
        _WRAPPED.wrap(_loop.AsyncPregelLoop, "__aenter__", _aentered)
        _WRAPPED.wrap(_loop.PregelLoop, "_first", _began)
        _WRAPPED.wrap(_loop.PregelLoop, "_put_checkpoint", _put_checkpoint)
        _WRAPPED.wrap(_loop.PregelLoop, "after_tick", _after_tick)
        _WRAPPED.wrap(_loop.PregelLoop, "_suppress_interrupt", _left)
        _WRAPPED.wrap(_runner, "run_with_retry", _run_node)
        _WRAPPED.wrap(_runner, "arun_with_retry", _run_node)
        checkpoints.wrap(_WRAPPED)
    except AttributeError:
        _WRAPPED.remove()
        raise


def installed() -> bool:
    """Tell whether graphs are recorded."""
    return _WRAPPED.there


def remove() -> None:
    """Leave LangGraph as it was."""
    _WRAPPED.remove()


def _invoked(original: Any, graph: Any, input: Any, config: Any = None, *args: Any, **kwargs: Any) -> Any:
    # `original` is a generator function: as a decorator, the span lasts as long as somebody reads.
    return Graph(graph, config)(original)(graph, input, config, *args, **kwargs)


def _run_node(original: Any, task: Any, *args: Any, **kwargs: Any) -> Any:
    graph = current_graph()
    if graph is None or graph.nodes_are_seen or task.name == "__start__":  # the input, on its way in
        return original(task, *args, **kwargs)
    return original(replace(task, proc=_Tries(graph, task)), *args, **kwargs)


class _Tries:
    """A node's work, as LangGraph calls it for each try, with a span around it."""

    def __init__(self, graph: Graph, task: Any) -> None:
        self._graph = graph
        self._task = task
        self._tries = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task.proc, name)

    def _next(self, config: Mapping[str, Any]) -> Node:
        self._tries += 1
        return Node(self._graph, self._task, config, self._tries)

    def invoke(self, input: Any, config: Any, **kwargs: Any) -> Any:
        with self._next(config):
            return self._task.proc.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: Any, **kwargs: Any) -> Any:
        with self._next(config):
            return await self._task.proc.ainvoke(input, config, **kwargs)

    async def astream(self, input: Any, config: Any, **kwargs: Any) -> Any:
        # LangGraph reads this to its end in one task, so the span's context does not leak to another.
        with self._next(config):
            async for item in self._task.proc.astream(input, config, **kwargs):
                yield item


class _Loaded:
    """The checkpoint that an invocation continues from, as it was before the invocation touched it."""

    def __init__(self, loop: Any, graph: Graph) -> None:
        self.id: str = loop.checkpoint["id"]
        self.exists = bool(loop.checkpoint["channel_versions"])
        self.metadata: Mapping[str, Any] = dict(loop.checkpoint_metadata)
        self.values: dict[str, object] = dict(loop.checkpoint["channel_values"])
        self.parent: Any = loop.prev_checkpoint_config
        self.edits: list[tuple[str, str]] = []
        """Checkpoints that somebody made by hand since the run's own: id and parent, the oldest last."""
        self.asked = _asked(loop)
        self.keys = graph.keys

    @property
    def is_edit(self) -> bool:
        return METADATA_KEY not in self.metadata and self.metadata.get("source") in ("update", "fork")

    def up(self, saved: Any) -> Any:
        """Take the checkpoint above an edit as what counts; return the one to look at next, None at the end."""
        parent_id = saved.checkpoint["id"]
        self.edits.append((self.id, parent_id))
        self.id, self.metadata, self.parent = parent_id, saved.metadata, saved.parent_config
        self.base: dict[str, object] = saved.checkpoint["channel_values"]
        return self.parent if self.is_edit else None

    def patch(self) -> object:
        """Return what the edits changed of the state, key by key."""
        if not self.edits:
            return NOTHING
        old = {key: json_value(self.base[key]) for key in self.keys if key in self.base}
        new = {key: json_value(self.values[key]) for key in self.keys if key in self.values}
        return list(_changes(old, new))


def _changes(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[dict[str, object]]:
    for key in sorted({*old, *new}):
        path = "/" + key.replace("~", "~0").replace("/", "~1")
        if key not in new:
            yield {"op": "remove", "path": path}
        elif key not in old or old[key] != new[key]:
            yield {"op": "replace" if key in old else "add", "path": path, "value": new[key]}


def _asked(loop: Any) -> object:
    """Return what the graph waited for: the values of its interrupts, one alone as it is."""
    found = [
        getattr(interrupt, "value", interrupt)
        for _, channel, interrupts in loop.checkpoint_pending_writes
        if channel == "__interrupt__"
        for interrupt in (interrupts if isinstance(interrupts, Iterable) else [interrupts])
    ]
    return found[0] if len(found) == 1 else found or None


def _began(original: Any, loop: Any, *args: Any, **kwargs: Any) -> Any:
    graph = current_graph()
    if graph is not None:
        if not loop.is_nested:
            loop._retrospan_loaded = beside("a checkpoint", _Loaded, loop, graph)
        beside("the content of a checkpoint", checkpoints.begin, loop, graph)
    return original(loop, *args, **kwargs)


def _entered(original: Any, loop: Any) -> Any:
    entered = original(loop)
    beside("the parent of a run", _look_up, loop)
    beside("the parent of a run", _descend, loop)
    beside("the beginning of a run", _set_out)
    return entered


async def _aentered(original: Any, loop: Any) -> Any:
    entered = await original(loop)
    try:
        await _alook_up(loop)
    except Exception as error:  # noqa: BLE001 - a guest
        beside("the parent of a run", _raise, error)
    beside("the parent of a run", _descend, loop)
    beside("the beginning of a run", _set_out)
    return entered


def _set_out() -> None:
    graph = current_graph()
    if graph is not None:
        graph.set_out()


def _raise(error: Exception) -> None:
    raise error


def _look_up(loop: Any) -> None:
    """Walk from checkpoints made by hand up to the one that a run made."""
    loaded: _Loaded | None = getattr(loop, "_retrospan_loaded", None)
    if loaded is not None and loaded.is_edit:
        at = loaded.parent
        while at is not None and len(loaded.edits) < _MAX_EDITS:
            saved = loop.checkpointer.get_tuple(at)
            at = None if saved is None else loaded.up(saved)


async def _alook_up(loop: Any) -> None:
    loaded: _Loaded | None = getattr(loop, "_retrospan_loaded", None)
    if loaded is not None and loaded.is_edit:
        at = loaded.parent
        while at is not None and len(loaded.edits) < _MAX_EDITS:
            saved = await loop.checkpointer.aget_tuple(at)
            at = None if saved is None else loaded.up(saved)


def _descend(loop: Any) -> None:
    """Link the run to the one whose checkpoint it continues from; a new input on a thread is a new turn."""
    graph, loaded = current_graph(), cast("_Loaded | None", getattr(loop, "_retrospan_loaded", None))
    if graph is None or loaded is None or not loaded.exists:
        return
    answer = getattr(loop.input, "resume", None)
    goes_on = loop.input is None or type(loop.input).__name__ == "Command"
    if not goes_on:
        return
    for own, parent in reversed(loaded.edits):
        graph.checkpoint(own, "update", parent)
    if answer is not None:
        graph.answered(answer, loaded.asked)
    reference = loaded.metadata.get(METADATA_KEY)
    if isinstance(reference, str):
        kind = "forks" if getattr(loop, "is_replaying", False) else "resumes"
        graph.descend(kind, RunReference.parse(reference), loaded.metadata.get("step"), loaded.patch())


def _put_checkpoint(original: Any, loop: Any, metadata: Any) -> Any:
    graph = current_graph()
    if graph is None:
        return original(loop, metadata)
    metadata.setdefault(METADATA_KEY, graph.reference)
    before = _saved_id(loop)
    done = original(loop, metadata)
    beside("a checkpoint", _note_checkpoint, graph, loop, before, metadata)
    return done


def _note_checkpoint(graph: Graph, loop: Any, before: str | None, metadata: Mapping[str, Any]) -> None:
    now = _saved_id(loop)
    if now is not None and now != before and loop.checkpointer is not None:
        graph.checkpoint(now, str(metadata.get("source", "loop")), before)


def _saved_id(loop: Any) -> str | None:
    return cast("str | None", loop.checkpoint_config["configurable"].get("checkpoint_id"))


def _after_tick(original: Any, loop: Any) -> Any:
    graph = current_graph()
    try:
        return original(loop)
    finally:
        if graph is not None:
            beside("a state", _settle, graph, loop)


def _settle(graph: Graph, loop: Any) -> None:
    from langgraph.pregel._io import read_channels

    try:
        state = cast("Mapping[str, object]", read_channels(loop.channels, graph.keys))
    except Exception:
        graph.settle(None)
        raise
    graph.settle(state)


def _left(original: Any, loop: Any, kind: Any, error: BaseException | None, traceback: Any) -> Any:
    graph = current_graph()
    if graph is not None and error is not None and is_interrupt(error):
        beside("an interrupt", graph.interrupted, error)
    return original(loop, kind, error, traceback)
