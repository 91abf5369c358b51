"""Deletes from the tables what receipts name. Safe to repeat.

The row of the run is deleted first, so that it disappears from every view of runs at once; then raw rows, then derived
ones. If only payloads are deleted, bare rows are first inserted beside the raw ones, and the run is interpreted again
from them. Whatever arrived after the receipt's last arrival stays, and is interpreted as a separate run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.interpret.rows.placeholders import deleted_run
from retrospan.ingest.retention.deletion.strip import MARK, kept_attributes
from retrospan.ingest.retention.receipts.evidence import key_of
from retrospan.ingest.retention.sql import load
from retrospan.ingest.warehouse.rows import insert_rows
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.store import Settings, Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

#: Tables of what was sent, by trace.
SENT = ("raw_spans", "raw_logs", "raw_resent", "arrivals")
_WITH_PAYLOADS = {
    "raw_spans": ("insert_bare_spans", "delete_unbared_spans"),
    "raw_logs": ("insert_bare_logs", "delete_unbared_logs"),
}
#: The same rows may be put back after a rebuild, and histories are long: no block is skipped, and blocks are small.
_PUT: Settings = {"insert_deduplicate": 0, "max_block_size": 256, "min_insert_block_size_bytes": 32 << 20}
#: Rows are masked at once and leave the disk when parts are merged or rewritten; the default would rewrite them now.
MASK: Settings = {"lightweight_delete_mode": "lightweight_update"}


@dataclass(frozen=True, slots=True)
class Deletion:
    """What one receipt names. `run_id` is '' for a trace without a run. `last_arrival` is Unix nanoseconds."""

    tenant: str
    run_id: str
    trace_ids: tuple[str, ...]
    last_arrival: int
    payloads: bool = False
    """Only payloads go."""


class Interpreting(Protocol):
    """What is asked of the interpreter."""

    def deleting(self, tenant: str, trace_ids: Iterable[str]) -> AbstractContextManager[None]: ...

    def read_again(self, tenant: str, trace_ids: Iterable[str]) -> None: ...


class Deleter:
    """Carries receipts out, one at a time, while nobody writes rows of runs."""

    def __init__(self, warehouse: Warehouse, interpreter: Interpreting) -> None:
        self._warehouse = warehouse
        self._interpreter = interpreter

    def apply(self, store: Store, tenant: str, deletions: Sequence[Deletion]) -> None:
        """Delete what these receipts of one tenant name; it is gone from every view when this returns."""
        run_ids = sorted({deletion.run_id for deletion in deletions if deletion.run_id})
        whole = _arrivals(deletion for deletion in deletions if not deletion.payloads)
        bared = _arrivals(deletion for deletion in deletions if deletion.payloads)
        trace_ids = sorted({*whole, *bared})
        with self._interpreter.deleting(tenant, trace_ids):
            generation = self._hide(store, tenant, run_ids, trace_ids)
            if bared:
                self._bare(store, tenant, bared)
            for table in SENT if whole else ():
                self._delete(
                    store,
                    "delete_sent",
                    table,
                    {"tenant": tenant, "trace_ids": list(whole), "arrivals": list(whole.values())},
                )
            for name, table in TABLES.items():
                key = key_of(name)
                names = trace_ids if key == "trace_id" else run_ids
                if names:
                    self._delete(
                        store,
                        "delete_derived",
                        table,
                        {"key": key, "tenant": tenant, "names": names, "generation": generation},
                    )
            asked = {"tenant": tenant, "trace_ids": trace_ids}
            left = typed_rows(store, tuple[str, int], load("last_arrivals"), asked)
        if left:
            self._interpreter.read_again(tenant, [trace_id for trace_id, _ in left])

    def _bare(self, store: Store, tenant: str, arrivals: dict[str, int]) -> None:
        """Replace rows of what was sent by bare ones. A process that dies in between leaves both, and begins again."""
        named: dict[str, object] = {
            "tenant": tenant,
            "trace_ids": list(arrivals),
            "arrivals": list(arrivals.values()),
            "kept": sorted(kept_attributes()),
            "mark": MARK,
        }
        for table, (insertion, deletion) in _WITH_PAYLOADS.items():
            store.command(load(insertion), named, _PUT)  # type: ignore[arg-type]  # as in _delete
            self._delete(store, deletion, table, named)

    def _hide(self, store: Store, tenant: str, run_ids: list[str], trace_ids: list[str]) -> int:
        """Point every run to nothing; returns the generation before which everything may go."""
        asked = {"tenant": tenant, "run_ids": run_ids, "trace_ids": trace_ids}
        (newest,) = typed_column(store, int, load("newest_generation_of"), asked)
        generation = max(newest + 1, time.time_ns())
        pointers = [row for run_id in run_ids for row in deleted_run(tenant, run_id, generation).runs]
        insert_rows(store, TABLES["runs"], pointers)
        return generation

    def _delete(self, store: Store, statement: str, table: str, parameters: dict[str, object]) -> None:
        form = self._warehouse.form
        store.command(
            form.everywhere(load(statement)),
            {"table": form.local(table), **parameters},  # type: ignore[dict-item]  # texts, numbers and lists of them
            MASK,
        )


def _arrivals(deletions: Iterable[Deletion]) -> dict[str, int]:
    """Trace id → the last arrival that goes."""
    arrivals: dict[str, int] = {}
    for deletion in deletions:
        for trace_id in deletion.trace_ids:
            arrivals[trace_id] = max(arrivals.get(trace_id, 0), deletion.last_arrival)
    return arrivals
