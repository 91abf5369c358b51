"""Gives back the disk of what was deleted: whole partitions at once, the rest where enough is gone.

Only in a warehouse that this process has to itself: on a server that is the server's own business, and it merges.
"""

from __future__ import annotations

import threading
import time
from typing import cast

from retrospan.ingest.interpret.service.worker import TABLES
from retrospan.ingest.retention.deletion.deleter import MASK, SENT
from retrospan.ingest.retention.sql import load
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.store import Store

#: A table is written anew when this share of its rows on disk is deleted; before that merges do it, in time.
_SHARE = 0.2
_DAY_SECONDS = 86_400
_AT_ONCE = 1000


def drop_empty_partitions(store: Store, turn: threading.RLock) -> int:
    """Drop the days of which no row is left; returns how many. `turn` keeps the loader from filling one meanwhile."""
    dropped = 0
    with turn:
        for table in SENT:
            found = store.rows(
                load("parts_without_rows"), {"database": DATABASE, "table": table, "source": table}
            )
            for (partition,) in found:
                store.command(load("drop_partition"), {"table": table, "partition": cast(str, partition)})
                dropped += 1
    return dropped


def forget_hidden_runs(store: Store) -> None:
    """Delete rows that hide runs since more than a day: no reading of what they hide can still be under way."""
    before = time.time_ns() - _DAY_SECONDS * 10**9
    while True:
        rows = store.rows(load("hidden_runs"), {"before": before, "limit": _AT_ONCE})
        by_tenant: dict[str, list[str]] = {}
        for tenant, run_id in rows:
            by_tenant.setdefault(cast(str, tenant), []).append(cast(str, run_id))
        for tenant, run_ids in by_tenant.items():
            store.command(
                load("delete_derived"),
                {
                    "table": TABLES["runs"],
                    "key": "run_id",
                    "tenant": tenant,
                    "names": run_ids,
                    "generation": before,
                },
                MASK,
            )
        if len(rows) < _AT_ONCE:
            return


def write_anew(store: Store) -> list[str]:
    """Have the engine write tables anew, in the background, of which much is deleted; returns their names."""
    tables: list[str] = []
    for table in (*SENT, *TABLES.values()):
        (row,) = store.rows(load("rows_on_disk"), {"database": DATABASE, "table": table, "source": table})
        on_disk, visible = cast(int, row[0]), cast(int, row[1])
        if on_disk - visible > _SHARE * on_disk:
            for statement in ("apply_patches", "apply_deleted_mask"):
                store.command(load(statement), {"table": table}, {"mutations_sync": 0})
            tables.append(table)
    return tables
