"""A thread of LangGraph as it was at a checkpoint, with something of its state changed: what a fork begins with.

`retrospan fork RUN --step N --set state.KEY=VALUE` names `forked` to the agent's process, which has LangGraph. The change is a
checkpoint of its own above the restored one, as `update_state` makes one, but for two things: a value is replaced whatever reducer
its channel has, and the nodes that come next are those that came next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, cast

from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.base.id import uuid6

from retrospan.queries.checkpoint_records import Point, Records
from retrospan.queries.langgraph import Restored, Values, filled
from retrospan.schemas.errors import NotRestorable
from retrospan.schemas.replacing import NoSuchPart, replaced

#: Under which the hook names the run that made a checkpoint. The fork names its parent itself.
_MADE_BY = "retrospan_run"


def forked(
    rows: Iterable[Mapping[str, Any]],
    checkpoint: str,
    thread: str | None,
    changes: Mapping[str, object],
    types: Iterable[tuple[str, str]] = (),
) -> Restored:
    """Return a saver with a thread at a checkpoint, changed: values by paths of keys with dots between them.

    `rows` are those of `questions/checkpoint_contents.sql`; `thread` is the new name of the thread, None for its own;
    `types` are classes of the program that the state holds, by module and name: no other is called, as records are data that somebody sent.

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
    if point.needs_those_above:
        raise NotRestorable(
            f"checkpoint {checkpoint}: it keeps values as changes since an earlier one, and cannot be changed here. "
            "`retrospan.queries.langgraph.restore` and update_state can."
        )
    records.rename(point.thread, point.thread if thread is None else str(thread))
    for each in records.points.values():
        each.metadata = {key: value for key, value in each.metadata.items() if key != _MADE_BY}
    saver = filled(records, point, Values(types))
    _change(saver, point, changes)
    saver.config = {"configurable": {"thread_id": point.thread}}
    return saver


def _change(saver: Restored, point: Point, changes: Mapping[str, object]) -> None:
    """Put the changes above the checkpoint. What tasks had written at it is not taken along, so that they run again."""
    at: Any = {"configurable": {"thread_id": point.thread, "checkpoint_ns": "", "checkpoint_id": point.id}}
    found = saver.get_tuple(at)
    assert found is not None
    values, versions = dict(found.checkpoint["channel_values"]), dict(found.checkpoint["channel_versions"])
    new = dict[str, Any]()
    for path, value in changes.items():
        channel, *rest = path.split(".")
        try:
            values[channel] = _messages(values.get(channel), replaced(values.get(channel), rest, value))
        except (NoSuchPart, TypeError, ValueError) as error:
            raise NotRestorable(f"state.{path} cannot be set: {error}.") from error
        new[channel] = saver.get_next_version(
            cast(Any, found.checkpoint["channel_versions"].get(channel)), None
        )
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
