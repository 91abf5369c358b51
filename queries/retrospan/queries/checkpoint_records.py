"""What a run recorded of a framework's checkpoints, put together: which there are, and what going on from one needs.

Pure: rows of `questions/checkpoint_contents.sql` in, values out. A record whose content is missing, was cut, redacted
or written by a later release makes only its own checkpoint unusable, and only one that is asked for raises.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from retrospan.schemas.checkpoint_form import FORM, NotInForm, lost, read, texts
from retrospan.schemas.errors import NotRestorable, PermanentError, SchemaTooNew

_MARKER = "[redacted:"


class Blob(NamedTuple):
    """The value of a channel at one version; not `there` for a channel that was emptied."""

    value: object = None
    there: bool = False
    problem: str | None = None


class Writes(NamedTuple):
    """What one task wrote: channel and value of each."""

    task: str
    path: str
    writes: tuple[tuple[str, object], ...]
    problem: str | None = None


@dataclass(slots=True, kw_only=True)
class Point:
    """A checkpoint on record."""

    id: str
    thread: str = ""
    namespace: str = ""
    parent: str | None = None
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    pending: tuple[Writes, ...] = ()
    """What was written at it before the run that continued from it."""
    writes: list[Writes] = field(default_factory=list)
    """What its own superstep wrote, while the run that is read went on."""
    problem: PermanentError | None = None
    known: bool = False
    is_loaded: bool = False
    """Whether its record is of a run that continued from it: then all of its values are in that record."""

    @property
    def needs_those_above(self) -> bool:
        """Tell whether some of its values are kept only as changes since an earlier checkpoint."""
        return bool(self.metadata.get("counters_since_delta_snapshot"))

    @property
    def step(self) -> int | None:
        """LangGraph's own number: -1 is the input."""
        found = self.metadata.get("step")
        return found if isinstance(found, int) else None


class Records:
    """The checkpoints of one or several runs, by id."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.points: dict[str, Point] = {}
        self.blobs: dict[tuple[str, str, str, object], Blob] = {}
        self._late: list[tuple[str, Writes]] = []
        for row in rows:
            self._take(str(row["checkpoint_id"]), str(row["content"]), str(row["redacted"]))
        for id, writes in self._late:
            self._point(id).writes.append(writes)

    def _point(self, id: str) -> Point:
        return self.points.setdefault(id, Point(id=id))

    def _take(self, id: str, content: str, redacted: str) -> None:
        try:
            said = _opened(id, content, redacted)
            if said["kind"] == "writes":
                self._late.append((id, _writes(said["task"], said["path"], said["writes"], redacted)))
            else:
                self._checkpoint(self._point(id), said, redacted)
        # Whatever somebody sent as a record: it spoils its own checkpoint, not the thread.
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            damaged = NotRestorable(
                f"checkpoint {id}: its record cannot be read ({type(error).__name__}: {error}). "
                "Restore another step."
            )
            self._refuse(id, damaged)
        except PermanentError as error:
            self._refuse(id, error)

    def _refuse(self, id: str, error: PermanentError) -> None:
        point = self._point(id)
        point.problem = point.problem or error

    def _checkpoint(self, point: Point, said: Mapping[str, Any], redacted: str) -> None:
        for part in ("checkpoint", "metadata"):
            why = _loss(said[part], redacted)
            if why is not None:
                raise NotRestorable(f"checkpoint {point.id}: its {part} {why}. Restore another step.")
        known, metadata = read(said["checkpoint"]), read(said["metadata"])
        if not isinstance(known, dict) or not isinstance(metadata, dict):
            raise NotInForm("checkpoint and metadata have no fields")
        versions = cast("dict[str, object]", known).get("channel_versions")
        if not isinstance(versions, dict) or not all(
            isinstance(each, str | int | float) for each in versions.values()
        ):
            raise NotInForm("the checkpoint has no versions of its channels")
        if not isinstance(said["parent"], str | None):
            raise NotInForm("its parent is not an id")
        if said["kind"] == "loaded":
            point.is_loaded = True
            by_task: dict[str, list[list[object]]] = {}
            for task, channel, value in said["pending"]:
                by_task.setdefault(str(task), []).append([channel, value])
            point.pending = tuple(_writes(task, "", writes, redacted) for task, writes in by_task.items())
        point.thread, point.namespace = str(said["thread"]), str(said["namespace"])
        point.parent, point.checkpoint, point.metadata, point.known = (
            said["parent"],
            known,
            metadata,
            True,
        )
        for name, version in said["versions"].items():
            key = (point.thread, point.namespace, name, version)
            found = _blob(said["values"], name, redacted)
            kept = self.blobs.get(key)
            if kept is None or kept.problem or (found.there and not kept.there):
                self.blobs[key] = found

    def threads(self) -> list[str]:
        return sorted({point.thread for point in self.points.values() if point.known})

    def candidates(self, thread: str) -> list[Point]:
        """Return the checkpoints of the graph itself, not of graphs inside it, the latest last; those that cannot be
        read too, if it is not known whose they are."""
        found = [p for p in self.points.values() if not p.namespace and p.thread in (thread, "")]
        return sorted(found, key=lambda point: point.id)

    def rename(self, thread: str, name: str) -> None:
        """Give a thread another name, and leave out what is of other threads."""
        self.points = {id: point for id, point in self.points.items() if point.thread == thread}
        for point in self.points.values():
            point.thread = name
        self.blobs = {(name, *key[1:]): blob for key, blob in self.blobs.items() if key[0] == thread}

    def is_passed(self, point: Point) -> bool:
        """Tell whether the thread went on from a checkpoint."""
        return any(each.parent == point.id and not each.namespace for each in self.points.values())

    def chain(self, point: Point) -> list[Point]:
        """Return a checkpoint and those above it that are on record, the oldest first."""
        found: list[Point] = []
        at: Point | None = point
        while at is not None and at.known and at not in found:
            found.append(at)
            at = self.points.get(at.parent or "")
        return found[::-1]

    def inside(self, chain: list[Point], is_passed: bool) -> Iterator[Point]:
        """Yield the checkpoints of graphs inside the graph that were made at one of the chain."""
        ids = {point.id for point in (chain[:-1] if is_passed else chain)}
        for each in sorted(self.points.values(), key=lambda point: point.id):
            parents = each.metadata.get("parents")
            if (
                each.namespace
                and isinstance(parents, dict)
                and cast("dict[str, str]", parents).get("") in ids
            ):
                yield each

    def reaches_back(self, chain: list[Point]) -> bool:
        """Tell whether the records hold all that a value which is kept as changes can begin with."""
        return chain[0].parent is None or any(each.is_loaded for each in chain)

    def values(self, point: Point) -> dict[str, Blob]:
        """Return the channels of a checkpoint. One whose value is on no record has a problem."""
        missing = Blob(problem="is in a record that is not there, or cannot be read")
        versions = point.checkpoint.get("channel_versions") or {}
        return {
            name: self.blobs.get((point.thread, point.namespace, name, version), missing)
            for name, version in versions.items()
        }


def _opened(id: str, content: str, redacted: str) -> Mapping[str, Any]:
    """Return the content of a record. Raises NotRestorable, SchemaTooNew, ValueError."""
    if not content:
        why = "was withheld by redaction or deleted by retention" if redacted else "is not in the warehouse"
        raise NotRestorable(
            f"checkpoint {id}: its content {why}. Restore another step, or a run whose contents were kept."
        )
    said = json.loads(content)
    if isinstance(said, dict) and "$cut" in said:
        raise NotRestorable(
            f"checkpoint {id}: its content was cut, as it is larger than RETROSPAN_VALUE_LIMIT_BYTES. "
            "Record the agent with a higher limit."
        )
    if not isinstance(said, dict) or not isinstance(said.get("form"), int):
        raise NotInForm("it has no form")
    if said["form"] > FORM:
        raise SchemaTooNew(
            f"checkpoint {id}: its content has form {said['form']}; this release reads up to {FORM}. "
            "Restore it with the release of the exporter that recorded it, or a later one."
        )
    if said.get("framework") != "langgraph":
        raise NotRestorable(
            f"checkpoint {id}: it is of {str(said.get('framework'))[:80]!r}; only LangGraph's can be restored."
        )
    return cast("Mapping[str, Any]", said)


def _loss(said: object, redacted: str) -> str | None:
    """Return why a part of a record is not what the agent had; None if it is."""
    if redacted and any(_MARKER in text for text in texts(said)):
        return f"was redacted ({redacted[:200]})"
    return lost(said)


def _blob(values: Mapping[str, object], name: str, redacted: str) -> Blob:
    if name not in values:
        return Blob()
    try:
        why = _loss(values[name], redacted)
        return Blob(None if why else read(values[name]), there=True, problem=why)
    except NotInForm as error:
        return Blob(there=True, problem=f"cannot be read ({error})")


def _writes(task: object, path: object, written: Iterable[Any], redacted: str) -> Writes:
    said = [(str(channel), value) for channel, value in written]
    try:
        why = _loss([value for _, value in said], redacted)
        values = () if why else tuple((channel, read(value)) for channel, value in said)
    except NotInForm as error:
        why, values = f"cannot be read ({error})", ()
    return Writes(str(task), str(path), values, why)
