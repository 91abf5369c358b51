"""A thread of LangGraph as it was at a checkpoint, with something of its state changed: what a fork begins with.

`retrospan fork RUN --step N --set state.KEY=VALUE` names `forked` to the agent's process, which has LangGraph. The
change is a checkpoint of its own above the restored one, as `update_state` makes one, but for three things: a value is
replaced whatever reducer its channel has, the nodes that come next are those that came next, and what channels kept as
changes is kept whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from types import MappingProxyType
from typing import Any, cast

from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.base.id import uuid6

from retrospan.queries.checkpoint_records import Point, Records
from retrospan.queries.langgraph import Restored, Values, filled
from retrospan.schemas.errors import NotRestorable
from retrospan.schemas.replacing import NoSuchPart, replaced

#: Under which the hook names the run that made a checkpoint. The fork names its parent itself.
_MADE_BY = "retrospan_run"
#: The class of channels that keep changes. By its name: earlier releases of LangGraph do not have it.
_DELTA = "DeltaChannel"
#: The channel of what waits to be sent to nodes.
_SENDS = "__pregel_tasks"
_NONE: Mapping[str, Any] = MappingProxyType({})


def forked(
    rows: Iterable[Mapping[str, Any]],
    checkpoint: str,
    thread: str | None,
    changes: Mapping[str, object],
    types: Iterable[tuple[str, str]] = (),
    channels: Mapping[str, Any] = _NONE,
) -> Restored:
    """Return a saver with a thread at a checkpoint, changed: values by paths of keys with dots between them.

    `rows` are those of `questions/checkpoint_contents.sql`; `thread` is the new name of the thread, None for its own;
    `types` are classes of the program that the state holds, by module and name: no other is called, as records are data
    that somebody sent. `channels` are those of the graph: only they know what changes since an earlier checkpoint come
    to (`DeltaChannel`).

    Raises NotRestorable: the checkpoint is not there, was cut, redacted or deleted, or has no such key.
    """
    records = Records(rows)
    point = records.points.get(checkpoint)
    if point is None:
        raise NotRestorable(f"checkpoint {checkpoint}: what it holds is not on record. Fork at another step.")
    if point.problem is not None:
        raise point.problem
    if not point.known:
        raise NotRestorable(
            f"checkpoint {checkpoint}: only what tasks wrote at it is on record. Fork at another step."
        )
    records.rename(point.thread, point.thread if thread is None else str(thread))
    for each in records.points.values():
        each.metadata = {key: value for key, value in each.metadata.items() if key != _MADE_BY}
    saver = filled(records, point, Values(types))
    _change(saver, point, changes, channels)
    saver.config = {"configurable": {"thread_id": point.thread}}
    return saver


def _change(
    saver: Restored, point: Point, changes: Mapping[str, object], channels: Mapping[str, Any]
) -> None:
    """Put the changes above the checkpoint. What tasks had written at it is not taken along, so that they run again."""
    at: Any = {"configurable": {"thread_id": point.thread, "checkpoint_ns": "", "checkpoint_id": point.id}}
    found = saver.get_tuple(at)
    assert found is not None
    sends = cast("list[Any]", found.checkpoint["channel_values"].get(_SENDS) or [])
    saver.sent = tuple(dict.fromkeys(str(each.node) for each in sends if hasattr(each, "node")))
    values, versions = dict(found.checkpoint["channel_values"]), dict(found.checkpoint["channel_versions"])
    kept = _kept_as_changes(saver, at, found.checkpoint, channels)
    values.update(kept)
    new = dict[str, Any]()
    for path, value in changes.items():
        channel, *rest = path.split(".")
        try:
            values[channel] = _messages(values.get(channel), replaced(values.get(channel), rest, value))
        except (NoSuchPart, TypeError, ValueError) as error:
            raise NotRestorable(f"state.{path} cannot be set: {error}.") from error
        new[channel] = _next(saver, found.checkpoint, channel)
    if kept:
        # Here: earlier releases of LangGraph have none.
        from langgraph.checkpoint.serde.types import _DeltaSnapshot

        # Whole, so that nobody looks above: there lies what tasks of the recorded run wrote at the checkpoint.
        for channel in kept:
            values[channel] = _DeltaSnapshot(values[channel])
            new[channel] = _next(saver, found.checkpoint, channel)
    versions.update(new)
    changed = {
        **found.checkpoint,
        "id": str(uuid6(clock_seq=(point.step or 0) + 1)),
        "ts": datetime.now(UTC).isoformat(),
        "channel_values": values,
        "channel_versions": versions,
        "updated_channels": None,
    }
    step = (point.step if point.step is not None else -1) + 1
    metadata = {"source": "update", "step": step, "parents": {}}
    saver.put(at, cast(Checkpoint, changed), cast(CheckpointMetadata, metadata), new)


def _next(saver: Restored, checkpoint: Checkpoint, channel: str) -> Any:
    return saver.get_next_version(cast(Any, checkpoint["channel_versions"].get(channel)), None)


def _kept_as_changes(
    saver: Restored, at: Any, checkpoint: Checkpoint, channels: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values of the channels that checkpoints hold as changes since an earlier one, as the graph's own
    channels make them.
    """
    names = {name for name, channel in channels.items() if type(channel).__name__ == _DELTA}
    written = names & checkpoint["channel_versions"].keys()
    if not written:
        return {}
    try:
        made = import_module("langgraph.pregel._checkpoint").channels_from_checkpoint(
            {name: channels[name] for name in written}, checkpoint, saver=saver, config=at
        )[0]
        return {name: channel.get() for name, channel in made.items() if channel.is_available()}
    except Exception as error:
        raise NotRestorable(
            f"checkpoint {checkpoint['id']}: what {', '.join(sorted(written))} held is kept as changes, and the graph's channels make "
            f"nothing of it ({type(error).__name__}: {error}). Fork at another step."
        ) from error


def _messages(old: object, new: object) -> object:
    """Return a list of messages where JSON takes the place of one."""
    if not (isinstance(old, list) and old and isinstance(new, list)):
        return new
    items = cast("list[object]", new)
    are_messages = all(hasattr(each, "response_metadata") for each in cast("list[object]", old))
    if not are_messages or not any(isinstance(each, dict) for each in items):
        return items
    # It is there where its messages are.
    made: object = import_module("langchain_core.messages").convert_to_messages(items)
    return made
