"""Says in which columns two rows of a table differ, and which of several rows belong together. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Row = Mapping[str, object]
_TEXT = 40


def differing_columns(one: Row, other: Row) -> list[str]:
    """Return the columns in which two rows differ; of attributes their keys."""
    found: list[str] = []
    for column in one:
        if one[column] == other.get(column):
            continue
        keys = _differing_keys(one[column], other.get(column))
        found += [f"{column}['{key[:_TEXT]}']" for key in keys] or [column]
    return found


def paired(
    wanted: Sequence[Row], found: Sequence[Row], place: Sequence[str], within: str
) -> list[tuple[Row | None, Row | None]]:
    """Put rows that should be there beside those that are: the same place first, then what has most columns alike.

    Rows that differ in the column `within` are not a pair, nor are rows of different places with less than half of their
    columns alike.
    """
    pairs: list[tuple[Row | None, Row | None]] = []
    left = list(found)
    alone: list[Row] = []
    for row in wanted:
        same = [other for other in left if all(row.get(name) == other.get(name) for name in (within, *place))]
        if same:
            best = max(same, key=lambda other: _alike(row, other))
            left.remove(best)
            pairs.append((row, best))
        else:
            alone.append(row)
    for row in alone:
        near = [other for other in left if row.get(within) == other.get(within)]
        best_left = max(near, key=lambda other: _alike(row, other), default=None)
        if best_left is not None and 2 * _alike(row, best_left) >= len(row):
            left.remove(best_left)
            pairs.append((row, best_left))
        else:
            pairs.append((row, None))
    return pairs + [(None, row) for row in left]


def _alike(one: Row, other: Row) -> int:
    return sum(one[column] == other.get(column) for column in one)


def _differing_keys(one: object, other: object) -> list[str]:
    """Return the keys under which two lists of attributes differ; [] when there are none, or the order differs only."""
    first, second = _by_key(one), _by_key(other)
    if first is None or second is None:
        return []
    return sorted(key for key in {*first, *second} if first.get(key) != second.get(key))


def _by_key(value: object) -> dict[str, list[object]] | None:
    if not isinstance(value, list) or not all(isinstance(item, dict) and "key" in item for item in value):
        return None
    found: dict[str, list[object]] = {}
    for item in value:
        found.setdefault(str(item["key"]), []).append(item)
    return found
