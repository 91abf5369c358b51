"""Rows of generations that a newer reading of their run has replaced: kept a while, then deleted."""

from __future__ import annotations

import time

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.interpret.sql import load
from retrospan.schemas.engines import Form
from retrospan.schemas.store import Store

#: Superseded rows stay this long, for queries that began with them.
KEEP_SECONDS = 120.0

#: And are deleted together: that takes most of a second of the processor, of one run or of a hundred.
COLLECT_SECONDS = 30.0

#: Tables that replace their rows by themselves; of all others superseded rows must be deleted.
_REPLACING = ("spans", "traces", "runs")
GENERATIONAL = tuple(name for name in TABLES if name not in _REPLACING)


class StaleGenerations:
    """What is to be deleted once nobody reads it any more. Belongs to one thread."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, str, str, int]] = []
        self._collected = -COLLECT_SECONDS

    def note(self, tenant: str, run_id: str, generation: int) -> None:
        """From now on this is the newest generation of the run; those before it have been replaced."""
        self._waiting.append((time.monotonic(), tenant, run_id, generation))

    def collect(self, store: Store, form: Form) -> None:
        """Delete the rows of generations that were superseded long enough ago."""
        now = time.monotonic()
        if now - self._collected < COLLECT_SECONDS:
            return
        due = [entry for entry in self._waiting if now - entry[0] >= KEEP_SECONDS]
        if not due:
            return
        self._collected = now
        self._waiting = [entry for entry in self._waiting if now - entry[0] < KEEP_SECONDS]
        by_tenant: dict[str, dict[str, int]] = {}
        for _, tenant, run_id, generation in due:
            by_tenant.setdefault(tenant, {})[run_id] = generation
        for tenant, generations in by_tenant.items():
            for name in GENERATIONAL:
                store.command(
                    form.everywhere(load("delete_superseded")),
                    {
                        "table": form.local(TABLES[name]),
                        "tenant": tenant,
                        "run_ids": list(generations),
                        "generations": list(generations.values()),
                    },
                )
