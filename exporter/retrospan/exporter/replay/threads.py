"""A fork that changes the state of a graph of LangGraph: its first invocation goes on from the checkpoint before the
step.

The program is as it is: it invokes its graph with an input, and the graph begins with what was restored, in memory.
What makes a saver of records is named by whoever starts the fork (`module:function`), since it needs LangGraph, and is
not part of the exporter.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, cast

from retrospan.exporter.hooks.watch import when_imported
from retrospan.exporter.replay.current import current
from retrospan.exporter.replay.replaying import Replaying
from retrospan.schemas.errors import PermanentError

_GRAPHS = "langgraph.pregel.main"
#: In the configuration of a graph that another one has invoked.
_INNER = "__pregel_task_id"


@dataclass(frozen=True, slots=True)
class Thread:
    """The records of a thread's checkpoints, and from which of them a fork goes on."""

    restore: str
    """Makes a saver of them: `module:function`."""
    checkpoint: str
    first: int
    """The first step of the run that is done from there."""
    rows: list[dict[str, Any]]
    types: list[list[str]]
    """Classes of the program that may be called, by module and name."""

    @classmethod
    def read(cls, file: Path) -> Thread:
        return cls(**json.loads(file.read_text(encoding="utf-8")))


def install(file: Path, replaying: Replaying) -> None:
    """Begin the first graph that fits with the thread, once LangGraph is imported."""
    beginning = _Beginning(file, replaying)

    def wrap() -> None:
        # Here: it is loaded by now.
        beginning.wrap(import_module(_GRAPHS).Pregel)

    when_imported(_GRAPHS, wrap)


class _Beginning:
    """What a thread is begun with; given once."""

    def __init__(self, file: Path, replaying: Replaying) -> None:
        self._file, self._replaying, self._lock = file, replaying, Lock()

    def wrap(self, graphs: Any) -> None:
        """Be asked by every invocation. Both stay generator functions: others who wrap them look at that."""
        stream, astream = graphs.stream, graphs.astream

        @wraps(stream)
        def begun(graph: Any, input: Any, config: Any = None, **named: Any) -> Iterator[Any]:
            yield from stream(graph, *self._begin(graph, input, config), **named)

        @wraps(astream)
        async def abegun(graph: Any, input: Any, config: Any = None, **named: Any) -> AsyncIterator[Any]:
            async with aclosing(astream(graph, *self._begin(graph, input, config), **named)) as each:
                async for item in each:
                    yield item

        graphs.stream, graphs.astream = begun, abegun

    def _begin(self, graph: Any, input: Any, config: Any) -> tuple[Any, Any]:
        """Return the input and the configuration that an invocation begins with."""
        with self._lock:
            given = self._given(graph, config or {})
        return (input, config) if given is None else (None, given)

    def _given(self, graph: Any, config: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the configuration to go on with; None for a graph that is not meant, or when the state was given
        already.
        """
        place = cast("dict[str, Any]", config.get("configurable") or {})
        replaying = self._replaying
        if current() is not replaying or replaying.report.state_to or _INNER in place:
            return None
        changes = replaying.conditions.edits.state
        if graph.checkpointer in (None, True, False) or not self._fits(graph, changes):
            return None
        thread = Thread.read(self._file)
        module, _, function = thread.restore.partition(":")
        try:
            restore = getattr(import_module(module), function)
            saver = restore(
                thread.rows,
                thread.checkpoint,
                place.get("thread_id"),
                changes,
                types=map(tuple, thread.types),
                channels=graph.channels,
            )
        except PermanentError as error:
            raise replaying.stop(f"the state cannot be set: {error}") from error
        except ImportError as error:
            raise replaying.stop(
                f"the state cannot be set: {error}. Is retrospan installed for this Python?"
            ) from error
        graph.checkpointer, replaying.report.state_sent = saver, saver.sent
        replaying.give_state(f"the graph {getattr(graph, 'name', None) or 'LangGraph'}", thread.first)
        return {**config, "configurable": {**place, **saver.config["configurable"], "checkpoint_ns": ""}}

    def _fits(self, graph: Any, changes: Mapping[str, object]) -> bool:
        return {path.partition(".")[0] for path in changes} <= {*graph.channels}
