"""What LangGraph's checkpoints hold, recorded as they are saved, so that a thread can be restored without its saver.

Each record is an event `retrospan.checkpoint.content`, of one of three kinds: `saved`, a checkpoint with the values
that are new in it; `loaded`, the checkpoint that an invocation continues from, whole, so that a run can be restored
from its own records; `writes`, what a task wrote before its superstep ended. Values are those that LangGraph's own
serializer makes, in the open (`retrospan.schemas.checkpoint_form`), so that redaction sees into them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any

from retrospan.exporter.hooks.graphs import Graph
from retrospan.exporter.hooks.wrapping import Wrappings, beside
from retrospan.schemas.checkpoint_form import FORM, Extension, unwritten, written

_GRAPH = "_retrospan_keeps"


def wrap(wrapped: Wrappings) -> None:
    """Record the contents of checkpoints, where this version of LangGraph saves them as we know it."""
    from langgraph.pregel import _loop

    saves = "_checkpointer_put_after_previous"
    if all(hasattr(kind, saves) for kind in (_loop.SyncPregelLoop, _loop.AsyncPregelLoop)):
        wrapped.wrap(_loop.SyncPregelLoop, saves, _put)
        wrapped.wrap(_loop.AsyncPregelLoop, saves, _aput)


def begin(loop: Any, graph: Graph) -> None:
    """Record what an invocation continues from, and what its tasks will write."""
    if loop.checkpointer is None:
        return
    setattr(loop, _GRAPH, graph)
    save = getattr(loop, "checkpointer_put_writes", None)
    if save is not None:
        loop.checkpointer_put_writes = _putting_writes(save, graph)
    if loop.checkpoint["channel_versions"]:
        _loaded(graph, loop)


def _put(original: Any, loop: Any, *args: Any) -> Any:
    done = original(loop, *args)
    beside("the content of a checkpoint", _saved, loop, *args)
    return done


async def _aput(original: Any, loop: Any, *args: Any) -> Any:
    done = await original(loop, *args)
    beside("the content of a checkpoint", _saved, loop, *args)
    return done


def _putting_writes(save: Callable[..., Any], graph: Graph) -> Callable[..., Any]:
    """Return LangGraph's function with our record of the same, once it has saved."""
    if iscoroutinefunction(save):

        async def asave(*args: Any) -> Any:
            done = await save(*args)
            beside("the writes of a task", _wrote, graph, *args)
            return done

        return asave

    def saves(*args: Any) -> Any:
        done = save(*args)
        beside("the writes of a task", _wrote, graph, *args)
        return done

    return saves


def _saved(loop: Any, *args: Any) -> None:
    graph: Graph | None = getattr(loop, _GRAPH, None)
    if graph is None:
        return
    config, checkpoint, metadata, new_versions = args[-4:]
    said = _described(config, checkpoint, metadata, config["configurable"].get("checkpoint_id"))
    held = checkpoint["channel_values"]
    values = {name: packed(held[name]) for name in new_versions if name in held}
    graph.content(checkpoint["id"], {**said, "kind": "saved", "versions": new_versions, "values": values})


def _loaded(graph: Graph, loop: Any) -> None:
    checkpoint, above = loop.checkpoint, loop.prev_checkpoint_config
    parent = above["configurable"].get("checkpoint_id") if above else None
    said = _described(loop.checkpoint_config, checkpoint, loop.checkpoint_metadata, parent)
    values = {name: packed(value) for name, value in checkpoint["channel_values"].items()}
    for name in getattr(loop, "_delta_channel_names", ()):
        channel = loop.channels.get(name)
        if channel is not None and name in checkpoint["channel_versions"] and channel.is_available():
            values[name] = _whole(channel)
    pending = [[task, channel, packed(value)] for task, channel, value in loop.checkpoint_pending_writes]
    versions = checkpoint["channel_versions"]
    content = {**said, "kind": "loaded", "versions": versions, "values": values, "pending": pending}
    graph.content(checkpoint["id"], content)


def _whole(channel: Any) -> object:
    """Return the value of a channel that checkpoints hold as changes, for it to need none of those before."""
    from langgraph.checkpoint.serde.types import _DeltaSnapshot

    return packed(_DeltaSnapshot(channel.get()))


def _wrote(
    graph: Graph, config: Mapping[str, Any], writes: Sequence[Any], task: str, path: str = "", *_: Any
) -> None:
    at = config["configurable"]
    said = [[channel, packed(value)] for channel, value in writes]
    content = {
        "form": FORM,
        "framework": "langgraph",
        "kind": "writes",
        "thread": str(at["thread_id"]),
        "namespace": at.get("checkpoint_ns", ""),
        "task": task,
        "path": path,
        "writes": said,
    }
    graph.content(at["checkpoint_id"], content)


def _described(config: Any, checkpoint: Any, metadata: Any, parent: str | None) -> dict[str, object]:
    from langgraph.checkpoint.base import get_checkpoint_metadata

    at = config["configurable"]
    rest = {key: value for key, value in checkpoint.items() if key != "channel_values"}
    return {
        "form": FORM,
        "framework": "langgraph",
        "thread": str(at["thread_id"]),
        "namespace": at.get("checkpoint_ns", ""),
        "parent": parent,
        "checkpoint": packed(rest),
        "metadata": packed(get_checkpoint_metadata(config, metadata)),
    }


def packed(value: object) -> object:
    """Return a value as LangGraph saves it, as JSON values; what it cannot pack is named by its type."""
    import ormsgpack
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    if value is None or isinstance(value, bytes):
        return written(value)
    try:
        kind, data = JsonPlusSerializer().dumps_typed(value)
    except Exception as error:  # noqa: BLE001 - a value of the program's: its saver may know how, ours does not
        return unwritten(f"{type(value).__qualname__}: {type(error).__name__}")
    if kind != "msgpack":
        return written(data) if kind == "bytearray" else unwritten(f"{type(value).__qualname__}: {kind}")

    def extension(code: int, held: bytes) -> Extension:
        inner = ormsgpack.unpackb(held, ext_hook=extension, option=ormsgpack.OPT_NON_STR_KEYS)
        return Extension(code, inner)

    try:
        return written(ormsgpack.unpackb(data, ext_hook=extension, option=ormsgpack.OPT_NON_STR_KEYS))
    except Exception as error:  # noqa: BLE001
        return unwritten(f"{type(value).__qualname__}: {type(error).__name__}")
