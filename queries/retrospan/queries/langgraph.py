"""A thread of LangGraph from the warehouse alone: restored at any step, it goes on in memory.

    from retrospan.queries.langgraph import restore

    saver = restore("4bf92f3577b34da6a3ce929d0e0e4736", step=2)
    graph = build(checkpointer=saver)
    graph.invoke(None, saver.config)

The run has to be recorded with the hook for LangGraph (docs/hooks.md). Nothing is written to the warehouse but what an
instrumented program sends anyway. Importing this module imports LangGraph's checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.resources import files
from typing import Any, cast

import ormsgpack
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_METHODS, SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from retrospan.queries.checkpoint_records import Point, Records, Writes
from retrospan.queries.client import Client, client_of
from retrospan.schemas.checkpoint_form import Extension, extensions
from retrospan.schemas.errors import NotFound, NotRestorable

#: LangGraph's codes of extensions: a class or model that is called, a method; an array, a channel's whole value.
_OF_CLASSES, _OF_METHOD, _OF_NO_CLASS = (0, 1, 2, 4, 5), 3, (6, 7)

#: A class of the program, or its module and name.
Kind = type | tuple[str, str]


class Restored(InMemorySaver):
    """A saver that holds a thread as it was at one step, and keeps what comes after it in memory."""

    config: dict[str, Any]
    """Names the thread and, if it once went on from there, the checkpoint: what to invoke a graph with."""
    step: int
    """LangGraph's own number of the step; -1 is the input."""
    checkpoint_id: str
    sent: tuple[str, ...] = ()
    """Nodes that come next by a `Send`, with what that gives them instead of the state."""


def restore(
    run_id: str | None = None,
    *,
    thread: str | None = None,
    step: int | None = None,
    checkpoint: str | None = None,
    types: Iterable[Kind] = (),
    url: str | None = None,
    token: str | None = None,
    timeout: float = 300.0,
) -> Restored:
    """Return a saver with the thread of a run as it was at a step: `graph.invoke(None, saver.config)` goes on there.

    Args:
        run_id: The run whose checkpoints are read. Without it those of every run of `thread`.
        thread: The id of the thread; needed beside a run only where that has several.
        step: LangGraph's own number of a step: -1 is the input, 0 what it became, 1 the first superstep's end. By
            default the last. Of several checkpoints with this step, the latest.
        checkpoint: The id of a checkpoint, instead of a step.
        types: Classes of the program that the state holds. Those of LangGraph, messages and Python's own are known;
            no other class is called, as records are data that somebody sent.
        url: As for `connect`, which see for `token` and `timeout`, too.

    Raises:
        NotFound: there is no such run, thread or step, or it has no checkpoints that can be restored.
        NotRestorable: the checkpoint was cut, redacted or deleted, or holds a class that is not in `types`.
        SchemaTooNew: a later release recorded it.
        SqlError, CollectorUnreachable, ConfigError: as for `connect`.
    """
    if run_id is None and thread is None:
        raise NotFound("restore: which run, or which thread? Give run_id or thread=.")
    records = _read(client_of(url, timeout, token), run_id, thread)
    whose = f"run {run_id}" if run_id is not None else f"thread {thread}"
    point = _chosen(records, _thread(records, thread, whose), step, checkpoint, whose)
    if point.problem is not None:
        raise point.problem
    return filled(records, point, Values(types))


def _read(client: Client, run_id: str | None, thread: str | None) -> Records:
    runs = client.rows(_question("runs_of_thread"), {"run_id": run_id or "", "thread": thread or ""})
    if not runs:
        missing = f"no run {run_id!r}" if run_id is not None else f"no run of the thread {thread!r}"
        raise NotFound(
            f"restore: there is {missing} in this warehouse. `retrospan runs` lists runs with their ids; "
            "the thread is runs.conversation_id."
        )
    statement = _question("checkpoint_contents")
    rows = [row for run in runs for row in client.rows(statement, {"run_id": str(run["run_id"])})]
    if not rows:
        raise NotFound(
            f"restore: {run_id or thread} has no checkpoints that can be restored. They are recorded by the hook for "
            "LangGraph (retrospan.exporter.instrument() installs it) where the graph has a checkpointer; "
            "other instrumentations record no contents of checkpoints."
        )
    return Records(rows)


def _thread(records: Records, thread: str | None, whose: str) -> str:
    threads = records.threads()
    if thread is not None and (thread in threads or not threads):
        return thread
    if thread is not None:
        raise NotFound(f"restore: {whose} has no thread {thread!r}; it has {_listed(threads)}.")
    if len(threads) > 1:
        raise NotFound(f"restore: {whose} has several threads: {_listed(threads)}. Name one with thread=.")
    return threads[0] if threads else ""


def _chosen(records: Records, thread: str, step: int | None, checkpoint: str | None, whose: str) -> Point:
    candidates = records.candidates(thread)
    if checkpoint is not None:
        found = [point for point in candidates if point.id == checkpoint]
        if not found:
            raise NotFound(
                f"restore: {whose} has no checkpoint {checkpoint!r}. The view checkpoints lists them."
            )
    elif step is not None:
        found = [point for point in candidates if point.step == step]
        if not found:
            unread = [point for point in candidates if point.problem is not None and not point.known]
            if unread:
                raise NotRestorable(
                    f"restore: no readable checkpoint of {whose} is of step {step}. One of the "
                    f"{len(unread)} that cannot be read: {unread[0].problem}"
                )
            steps = sorted({point.step for point in candidates if point.step is not None})
            raise NotFound(
                f"restore: {whose} has no checkpoint of step {step}; it has steps {_listed(steps)}. "
                "The numbers are LangGraph's own; -1 is the input."
            )
    else:
        found = candidates
    if not found:
        raise NotFound(f"restore: {whose} has no checkpoint of the thread {thread!r}.")
    point = found[-1]
    if not point.known and point.problem is None:
        raise NotRestorable(
            f"checkpoint {point.id}: only what tasks wrote at it is on record, not what it holds. Restore another step."
        )
    return point


class Values:
    """Makes values of what was recorded, calling no class but known ones."""

    def __init__(self, types: Iterable[Kind]) -> None:
        named = {kind if isinstance(kind, tuple) else (kind.__module__, kind.__name__) for kind in types}
        self._known = {*SAFE_MSGPACK_TYPES, *named}
        self._serializer = JsonPlusSerializer(allowed_msgpack_modules=sorted(named))

    def value(self, said: object, where: str) -> Any:
        """Return the value as the program had it. Raises NotRestorable."""
        for each in extensions(said):
            self._check(each, where)
        if said is None or isinstance(said, bytes):
            return said
        try:
            return self._serializer.loads_typed(("msgpack", _packed(said)))
        except Exception as error:
            raise NotRestorable(f"{where} cannot be made again: {type(error).__name__}: {error}.") from error

    def _check(self, said: Extension, where: str) -> None:
        if said.code in _OF_NO_CLASS:
            return
        parts = said.value if isinstance(said.value, list) else []
        if said.code not in (*_OF_CLASSES, _OF_METHOD) or len(parts) < 3:
            raise NotRestorable(
                f"{where} is in a form (extension {said.code}) that is not known here. Update retrospan and langgraph."
            )
        module, name = str(parts[0]), str(parts[1])
        if said.code == _OF_METHOD:
            known = (module, name, str(parts[-1])) in SAFE_MSGPACK_METHODS
        else:
            known = (module, name) in self._known
        if not known:
            raise NotRestorable(
                f"{where} holds {module}.{name}, which is not called unless you say so: "
                f"restore(…, types=[({module!r}, {name!r})]), or retrospan fork --type {module}:{name}."
            )
        try:
            getattr(import_module(module), name)
        except Exception as error:
            raise NotRestorable(
                f"{where} holds {module}.{name}, which is not in this process ({error}). "
                "Restore it where the agent's own code can be imported."
            ) from error


def _packed(said: object) -> bytes:
    option = ormsgpack.OPT_NON_STR_KEYS | ormsgpack.OPT_REPLACE_SURROGATES
    return ormsgpack.packb(said, default=_extended, option=option | ormsgpack.OPT_PASSTHROUGH_DATACLASS)


def _extended(said: object) -> ormsgpack.Ext:
    if not isinstance(said, Extension):
        raise TypeError(f"{type(said).__name__} is not on record in this form")
    return ormsgpack.Ext(said.code, _packed(said.value))


def filled(records: Records, point: Point, values: Values) -> Restored:
    is_passed = records.is_passed(point)
    chain = records.chain(point)
    if point.needs_those_above and not records.reaches_back(chain):
        raise NotRestorable(
            f"checkpoint {point.id}: values of it are kept as changes since a checkpoint that is not on record. "
            "Restore the whole thread with thread=, or a later step."
        )
    saver = Restored()
    for each in [*chain, *records.inside(chain, is_passed)]:
        # What was done of the step is done again, unless the thread ended there.
        of_step = each.pending if each is point and is_passed else (*each.pending, *each.writes)
        try:
            _save(saver, records, each, values)
            _save_writes(saver, each, of_step, values)
        except NotRestorable:
            # What lies before the step only shows in the thread's history, unless values need it.
            if each is point or each.namespace or point.needs_those_above:
                raise
    saver.step, saver.checkpoint_id = point.step if point.step is not None else -1, point.id
    saver.config = {
        "configurable": _place(point, point.id) if is_passed else {"thread_id": point.thread},
    }
    return saver


def _save(saver: Restored, records: Records, point: Point, values: Values) -> None:
    held: dict[str, Any] = {}
    for name, blob in records.values(point).items():
        where = f"checkpoint {point.id} (step {point.step}): the channel {name!r}"
        if blob.problem is not None:
            raise NotRestorable(f"{where} {blob.problem}. Restore another step.")
        if blob.there:
            held[name] = values.value(blob.value, where)
    where = f"checkpoint {point.id}"
    known = cast("dict[str, Any]", values.value(dict(point.checkpoint), where))
    metadata = values.value(dict(point.metadata), f"{where}: its metadata")
    saver.put(
        cast("Any", {"configurable": _place(point, point.parent)}),
        cast(Checkpoint, {**known, "channel_values": held}),
        cast(CheckpointMetadata, metadata),
        known["channel_versions"],
    )


def _save_writes(saver: Restored, point: Point, written: Iterable[Writes], values: Values) -> None:
    at = cast("Any", {"configurable": _place(point, point.id)})
    for each in written:
        where = f"checkpoint {point.id}: what the task {each.task} wrote"
        if each.problem is not None:
            raise NotRestorable(f"{where} {each.problem}. Restore another step.")
        made = [(channel, values.value(value, where)) for channel, value in each.writes]
        saver.put_writes(at, made, each.task, each.path)


def _place(point: Point, id: str | None) -> dict[str, str]:
    at = {"thread_id": point.thread, "checkpoint_ns": point.namespace}
    return at if id is None else {**at, "checkpoint_id": id}


def _question(name: str) -> str:
    return (files("retrospan.queries") / "questions" / f"{name}.sql").read_text(encoding="utf-8")


def _listed(names: Iterable[object]) -> str:
    found = [str(name) for name in names]
    return ", ".join(found[:20]) + (f" and {len(found) - 20} more" if len(found) > 20 else "")
