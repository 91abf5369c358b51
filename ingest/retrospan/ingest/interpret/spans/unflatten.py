"""Lists and objects that travel as one attribute per leaf: `llm.input_messages.0.message.role`.

Indexes are compared as numbers, holes are kept as holes, and a leaf that is also a branch loses to the branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from retrospan.ingest.json_text import MAX_DEPTH

_IN_BRACKETS = re.compile(r"\[(\d{1,9})\]")
#: The attributes of one element: the rest of each key, and its value.
Leaves = Sequence[tuple[str, object]]


def leaves_of(attributes: Mapping[str, object], prefix: str) -> dict[int, Leaves]:
    """Return what lies under `prefix.N.` by N, in order of N; elements that are missing are left out."""
    start, marked = prefix + ".", prefix + "["
    found: dict[int, list[tuple[str, object]]] = {}
    for key, value in attributes.items():
        if key.startswith((start, marked)):
            index, _, path = _in_points(key[len(prefix) :])[1:].partition(".")
            if index.isdecimal() and len(index) < 10:
                found.setdefault(int(index), []).append((path, value))
    return {index: found[index] for index in sorted(found)}


def message_under(attributes: Mapping[str, object], prefix: str) -> dict[str, object]:
    """Return the one object whose leaves stand under a prefix."""
    start = prefix + "."
    leaves = [
        (_in_points(key[len(start) :]), value) for key, value in attributes.items() if key.startswith(start)
    ]
    return nested(leaves)


def _in_points(path: str) -> str:
    """Return a path with its indexes between points, also where it has them in brackets: `[0].role` as `.0.role`."""
    return _IN_BRACKETS.sub(r".\1", path) if "[" in path else path


def nested(leaves: Leaves) -> dict[str, object]:
    """Return an element as a nested object."""
    whole: dict[str, object] = {}
    for path, value in leaves:
        _put(whole, path.split(".", MAX_DEPTH) if path else [""], value)
    return _listed(whole)


def unflatten(attributes: Mapping[str, object], prefix: str) -> list[dict[str, object]]:
    """Return the elements under `prefix.N.`, in order of N, each as a nested object; elements that are missing are left out."""
    return [nested(leaves) for leaves in leaves_of(attributes, prefix).values()]


def missing_indexes(present: Iterable[int]) -> str:
    """Return the indexes below the highest that are not among those in order, as `0-35, 40`; '' when there is no hole."""
    holes = [
        (last + 1, following - 1) for last, following in pairwise([-1, *present]) if following > last + 1
    ]
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in holes)


def _put(into: dict[str, object], path: list[str], value: object) -> None:
    for name in path[:-1]:
        inner = into.get(name)
        if not isinstance(inner, dict):
            inner = into[name] = {}
        into = inner
    if not isinstance(into.get(path[-1]), dict):
        into[path[-1]] = value


def _listed(value: dict[str, object]) -> dict[str, object]:
    """Return the object with every inner object whose keys are all numbers turned into a list."""
    out: dict[str, object] = {}
    for key, item in value.items():
        if isinstance(item, dict):
            inner = _listed(item)
            numbered = bool(inner) and all(name.isdecimal() for name in inner)
            out[key] = [inner[name] for name in sorted(inner, key=int)] if numbered else inner
        else:
            out[key] = item
    return out
