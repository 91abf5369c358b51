"""Frees the disk space of deleted rows: whole partitions at once, the rest once enough is deleted.

Only in a warehouse that this process has to itself: on a server that is the server's own business, and it merges.
"""

from __future__ import annotations

import time

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.load.chain import Chains
from retrospan.ingest.retention.deletion.deleter import MASK, SENT
from retrospan.ingest.retention.sql import load
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

#: A table is written anew when this share of its rows on disk is deleted; before that merges do it, in time.
_SHARE = 0.2
_DAY_SECONDS = 86_400
_AT_ONCE = 1000


def drop_empty_partitions(store: Store, chains: Chains) -> int:
    """Drop the days of which no row is left; returns how many. The loader fills none meanwhile."""
    dropped = 0
    with chains.locked():
        for table in SENT:
            asked = {"database": DATABASE, "table": table, "source": table}
            for partition in typed_column(store, str, load("parts_without_rows"), asked):
                store.command(load("drop_partition"), {"table": table, "partition": partition})
                dropped += 1
    return dropped


def forget_hidden_runs(store: Store) -> None:
    """Delete rows that hide runs since more than a day: no reading of what they hide can still be under way."""
    before = time.time_ns() - _DAY_SECONDS * 10**9
    while True:
        asked = {"before": before, "limit": _AT_ONCE}
        rows = typed_rows(store, tuple[str, str], load("hidden_runs"), asked)
        by_tenant: dict[str, list[str]] = {}
        for tenant, run_id in rows:
            by_tenant.setdefault(tenant, []).append(run_id)
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
        asked = {"database": DATABASE, "table": table, "source": table}
        ((on_disk, visible),) = typed_rows(store, tuple[int, int], load("rows_on_disk"), asked)
        if on_disk - visible > _SHARE * on_disk:
            for statement in ("apply_patches", "apply_deleted_mask"):
                store.command(load(statement), {"table": table}, {"mutations_sync": 0})
            tables.append(table)
    return tables
