"""What a reading of some traces replaces: the readings of these traces before it, and runs that nothing belongs to any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrospan.ingest.interpret.sql import load
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows


def runs_before(store: Store, tenant: str, trace_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the runs that these traces held when they were read last, by trace; of those alone that were read before."""
    asked = {"tenant": tenant, "trace_ids": list(trace_ids)}
    rows = typed_rows(store, tuple[str, list[str], str, list[str]], load("traces_known"), asked)
    return {trace_id: run_ids for trace_id, run_ids, *_ in rows}


def orphaned_runs(before: Mapping[str, Sequence[str]], homes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return runs that these traces (trace id → their runs now) held `before` and none holds now."""
    held = {run_id for run_ids in before.values() for run_id in run_ids}
    return sorted(held - {run_id for run_ids in homes.values() for run_id in run_ids})
