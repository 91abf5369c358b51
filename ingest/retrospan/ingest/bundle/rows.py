"""The rows that a run of a bundle is made of, and their columns as what they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from retrospan.ingest.row_values import whole

#: A row by column name.
Row = Mapping[str, object]
#: How to record what a run lacks: of messages, results or tools.
Switch = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleRows:
    """What the questions named bundle_… answer about one run."""

    run: Row
    model_calls: Sequence[Row] = ()
    tool_calls: Sequence[Row] = ()
    spans: Sequence[Row] = ()
    states: Sequence[Row] = ()
    checkpoints: Sequence[Row] = ()
    problems: Sequence[Row] = field(default_factory=tuple[Row, ...])
    draws: Sequence[Row] = ()


def json_of(row: Row, name: str) -> object:
    """Return the value of a column that is JSON; None if it is unknown or, against what the view says, not JSON."""
    value = row[name]
    if not isinstance(value, str):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def ended_at(row: Row) -> int | None:
    """Return when an act ended in Unix nanoseconds, from its start and how long it took."""
    started, took = whole(row, "started_ns"), row["duration_ms"]
    if started is None or not isinstance(took, int | float):
        return None
    return started + round(took * 1_000_000)
