"""State patches: `retrospan.state.patch` (RFC 6902) in the place of the state after.

A patch applies to the state before of the same span; where that is not said, to the state that the last span with a
stated state had left when this one began. What does not apply is a problem, and the state after stays unknown.
"""

from __future__ import annotations

import copy
from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.json_text import MAX_DEPTH, Unreadable, read_json
from retrospan.schemas.attributes import STATE_PATCH
from retrospan.schemas.hashing import canonical_json

#: What a patch may copy, compare and move, in elements and pieces of 64 characters: a few operations can double a state
#: each, and take all time and memory there is.
_MOST_WORK = 2_000_000
_PIECE = 64
_TOO_DEEP = f"the state would be nested deeper than {MAX_DEPTH}"


class NoPatch(ValueError):
    """It is not a patch, or does not apply; the message says where. Never leaves this module but to tests."""


def apply_patches(spans: Sequence[NormalizedSpan], problems: ParseIssues) -> None:
    """Complete the state after of the spans, which are in order, from the patches on them."""
    left = _Left()
    for span in spans:
        raw = span.sent.attributes.get(STATE_PATCH)
        if raw is not None and span.state_after is None:
            _apply(span, raw, left, problems)
        if span.state_after is not None:
            left.note(span.sent.said_at if span.is_unfinished else span.sent.ended_at, span.state_after)


class _Left:
    """The states that spans left, by when they ended."""

    def __init__(self) -> None:
        self._ends: list[int] = []
        self._states: dict[int, dict[str, object]] = {}

    def note(self, ended: int, state: dict[str, object]) -> None:
        """Note what a span left; of several that ended at one time the first counts."""
        if ended not in self._states:
            self._states[ended] = state
            insort(self._ends, ended)

    def at(self, time: int) -> dict[str, object] | None:
        """Return what was left last by then."""
        place = bisect_right(self._ends, time)
        return self._states[self._ends[place - 1]] if place else None


def _apply(span: NormalizedSpan, raw: object, left: _Left, problems: ParseIssues) -> None:
    before = span.state_before
    if before is None:
        before = left.at(span.sent.started_at)
    try:
        if before is None:
            raise NoPatch("there is no state that it applies to")
        patch = read_json(raw) if isinstance(raw, str) else raw
        if isinstance(patch, Unreadable):
            raise NoPatch(patch.reason)
        after = patched(before, patch)
        if not isinstance(after, dict):
            raise NoPatch("leaves no JSON object")
    except NoPatch as reason:
        problems.add(span.sent.span_id, STATE_PATCH, raw, str(reason))
        return
    span.state_before, span.state_after = before, after


def patched(document: object, patch: object) -> object:
    """Return the document with the operations of the patch applied in order. Raises NoPatch; the document stays as it is."""
    if not isinstance(patch, list):
        raise NoPatch("not a JSON array of operations")
    result = copy.deepcopy(document)
    work = _Work()
    for number, operation in enumerate(patch, start=1):
        try:
            result = _operate(result, operation, work)
        except NoPatch as reason:
            raise NoPatch(f"operation {number}: {reason}") from None
        except RecursionError:
            raise NoPatch(f"operation {number}: {_TOO_DEEP}") from None
    if _depth(result) > MAX_DEPTH + 1:  # what is innermost counts as well
        raise NoPatch(_TOO_DEEP)
    return result


def _depth(document: object) -> int:
    depth, level = 0, [document]
    while level:
        depth += 1
        inside = [
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, dict | list)
        ]
        level = [each for values in inside for each in values]
    return depth


class _Work:
    """What one patch has done so far."""

    def __init__(self) -> None:
        self._left = _MOST_WORK

    def copied(self, value: object) -> object:
        """Return a copy of a value, if there is so much left to do."""
        self.read(value)
        return copy.deepcopy(value)

    def read(self, value: object) -> None:
        """Count a value that is read as a whole. Raises NoPatch."""
        waiting = [value]
        while waiting:
            each = waiting.pop()
            size = 1
            if isinstance(each, dict):
                waiting.extend(each.values())
            elif isinstance(each, list):
                waiting.extend(each)
            elif isinstance(each, str):
                size += len(each) // _PIECE
            self._spend(size)

    def moved(self, inside: list[object]) -> None:
        """Count that the elements of an array make room, or close up. Raises NoPatch."""
        self._spend(len(inside) // _PIECE)

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise NoPatch("copies, compares or moves more than a patch may")


def _operate(document: object, operation: object, work: _Work) -> object:
    if not isinstance(operation, dict):
        raise NoPatch("not an object")
    op = operation.get("op")
    path = _pointer(operation.get("path"), "path")
    if op in ("add", "replace", "test") and "value" not in operation:
        raise NoPatch(f"{op} without a value")
    if op == "add":
        return _add(document, path, copy.deepcopy(operation["value"]), work)
    if op == "remove":
        return _remove(document, path, work)[0]
    if op == "replace":
        if not path:
            return copy.deepcopy(operation["value"])
        place = _place(document, path)
        place.get()
        place.set(copy.deepcopy(operation["value"]))
        return document
    if op == "test":
        found = _value(document, path)
        work.read(found)
        if canonical_json(found) != canonical_json(operation["value"]):
            raise NoPatch(f"test failed at {operation['path']!r}")
        return document
    if op in ("move", "copy"):
        source = _pointer(operation.get("from"), "from")
        if op == "copy":
            return _add(document, path, work.copied(_value(document, source)), work)
        if path[: len(source)] == source and path != source:
            raise NoPatch("moves a value into itself")
        rest, value = _remove(document, source, work)
        return _add(rest, path, value, work)
    raise NoPatch(f"no operation of RFC 6902: {op!r}")


def _pointer(text: object, name: str) -> list[str]:
    """Return the parts of a JSON pointer (RFC 6901)."""
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise NoPatch(f"{name} is not a JSON pointer: {text!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a pointer leads: a member of an object, or a place in an array (its length: after the last)."""

    inside: dict[str, object] | list[object]
    key: str

    def get(self) -> object:
        if isinstance(self.inside, dict):
            if self.key not in self.inside:
                raise NoPatch(f"there is no {self.key!r}")
            return self.inside[self.key]
        return self.inside[self.index(len(self.inside) - 1)]

    def set(self, value: object) -> None:
        if isinstance(self.inside, dict):
            self.inside[self.key] = value
        else:
            self.inside[self.index(len(self.inside) - 1)] = value

    def index(self, most: int) -> int:
        if self.key == "-":
            place = len(self.inside)
        elif self.key.isascii() and self.key.isdecimal() and (self.key == "0" or self.key[0] != "0"):
            place = int(self.key) if len(self.key) < 10 else most + 1
        else:
            raise NoPatch(f"no index of an array: {self.key!r}")
        if place > most:
            raise NoPatch(f"the array has no place {self.key}")
        return place


def _place(document: object, path: list[str]) -> _Place:
    at = document
    for part in path[:-1]:
        if not isinstance(at, dict | list):
            raise NoPatch(f"nothing lies inside of what {part!r} is asked of")
        at = _Place(at, part).get()
    if not isinstance(at, dict | list):
        raise NoPatch(f"nothing lies inside of what {path[-1]!r} is asked of")
    return _Place(at, path[-1])


def _value(document: object, path: list[str]) -> object:
    return _place(document, path).get() if path else document


def _add(document: object, path: list[str], value: object, work: _Work) -> object:
    if not path:
        return value
    place = _place(document, path)
    if isinstance(place.inside, list):
        work.moved(place.inside)
        place.inside.insert(place.index(len(place.inside)), value)
    else:
        place.inside[place.key] = value
    return document


def _remove(document: object, path: list[str], work: _Work) -> tuple[object, object]:
    """Return the document without what the path leads to, and that."""
    if not path:
        return None, document
    place = _place(document, path)
    value = place.get()
    if isinstance(place.inside, list):
        work.moved(place.inside)
        del place.inside[place.index(len(place.inside) - 1)]
    else:
        del place.inside[place.key]
    return document, value
