"""Runs that nothing belongs to any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrospan.ingest.interpret.sql import load
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows


def orphaned_runs(store: Store, tenant: str, homes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return runs that these traces (trace id → their runs now) held when they were read last and none holds now."""
    asked = {"tenant": tenant, "trace_ids": list(homes)}
    rows = typed_rows(store, tuple[str, list[str], str, list[str]], load("traces_known"), asked)
    before = {run_id for _, run_ids, *_ in rows for run_id in run_ids}
    return sorted(before - {run_id for run_ids in homes.values() for run_id in run_ids})
