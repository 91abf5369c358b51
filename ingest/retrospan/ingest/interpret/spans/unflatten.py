"""Lists and objects that travel as one attribute per leaf: `llm.input_messages.0.message.role`.

Indexes are compared as numbers, holes are kept as holes, and a leaf that is also a branch loses to the branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from retrospan.ingest.json_text import MAX_DEPTH


def unflatten(attributes: Mapping[str, object], prefix: str) -> list[dict[str, object]]:
    """Return the elements under `prefix.N.`, in order of N, each as a nested object; elements that are missing are left out."""
    start = prefix + "."
    found: dict[int, dict[str, object]] = {}
    for key, value in attributes.items():
        if not key.startswith(start):
            continue
        index, _, path = key[len(start) :].partition(".")
        if index.isdecimal() and len(index) < 10:
            _put(found.setdefault(int(index), {}), path.split(".", MAX_DEPTH) if path else [""], value)
    return [_listed(found[index]) for index in sorted(found)]


def missing_indexes(attributes: Mapping[str, object], prefix: str) -> str:
    """Return the indexes below the highest that no attribute has, as `0-35, 40`; '' when there is no hole."""
    start = prefix + "."
    indexes = {key[len(start) :].partition(".")[0] for key in attributes if key.startswith(start)}
    present = sorted(int(index) for index in indexes if index.isdecimal() and len(index) < 10)
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
