"""What has come in, when several collectors fill one warehouse and several interpreters read it.

A log's records are loaded in order, so one number per log says how far an interpreter has looked. What one
interpreter finds to be another's it passes on by touching the trace again, in the other's name: a row of `arrivals`
like any other, under a log number of its own, so nothing is forgotten when either of them dies.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping

from retrospan.ingest.interpret.service.noticed_strays import touched_by_strays
from retrospan.ingest.interpret.service.run_queue import Touched
from retrospan.ingest.interpret.sql import load
from retrospan.ingest.load.identity import note_log
from retrospan.schemas.sequences import LOG_SHIFT, MOST_LOGS, base_of
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

#: How often to look for new records, in seconds, when nobody says that there are some.
LOOK_SECONDS = 0.5


class ArrivalFeed:
    """What one interpreter has seen of all logs. Belongs to its thread."""

    def __init__(self, name: str) -> None:
        """`name` is what the list of logs calls this interpreter, once it passes something on."""
        self._name = name
        self._seen: dict[int, int] = {}
        self._heard: dict[int, int] = {}  # of each log, the last record of no trace
        self._look_at = 0.0
        self._log = 0
        self._passed = 0

    def begin(self, store: Store) -> None:
        """Take what is there now as seen: the caller reads it as a whole after this."""
        self._seen = {}
        for last in typed_column(store, int, load("newest_of_logs")):
            self._seen[last >> LOG_SHIFT] = last

    def fresh(self, store: Store, at_once: bool) -> list[Touched]:
        """Return the traces touched since the last look."""
        now = time.monotonic()
        if not at_once and now < self._look_at:
            return []
        self._look_at = now + LOOK_SECONDS
        rows: list[Touched] = []
        for log in typed_column(store, int, load("log_numbers")):
            base = base_of(log)
            asked = {"first": self._seen.get(log, base) + 1, "last": base + (1 << LOG_SHIFT) - 1}
            found = typed_rows(store, Touched, load("traces_touched"), asked)
            for row in found:
                self._seen[log] = max(self._seen.get(log, 0), *row.newest)
            rows += found + self._of_strays(store, asked["first"], asked["last"])
        return rows

    def _of_strays(self, store: Store, first: int, last: int) -> list[Touched]:
        """Return the traces that records of no trace may be about, which no trace tells to be new."""
        found = touched_by_strays(store, max(first, self._heard.get(log := first >> LOG_SHIFT, 0) + 1), last)
        self._heard[log] = max(self._heard.get(log, 0), first - 1, *(row.newest[0] for row in found))
        return found

    def keep_own(self, store: Store, rows: list[Touched], owns: Callable[[str, str], bool]) -> list[Touched]:
        """Return the traces that are this interpreter's; all others are passed on."""
        foreign: dict[str, dict[str, str]] = {}
        own: list[Touched] = []
        for row in rows:
            if owns(row.tenant, row.trace_id):
                own.append(row)
            else:
                foreign.setdefault(row.tenant, {})[row.trace_id] = row.trace_id
        for tenant, homes in foreign.items():
            self.pass_on(store, tenant, homes)
        return own

    def pass_on(self, store: Store, tenant: str, homes: Mapping[str, str]) -> None:
        """Have traces (trace id → a run) read by the interpreters of those runs."""
        if not homes:
            return
        if not self._log:
            self._log = 1 + secrets.randbelow(MOST_LOGS - 1)
            note_log(store, self._log, self._name)
        self._passed += 1
        store.command(
            load("touch_traces"),
            {
                "tenant": tenant,
                "trace_ids": list(homes),
                "homes": list(homes.values()),
                "sequence": base_of(self._log) + self._passed,
            },
        )
