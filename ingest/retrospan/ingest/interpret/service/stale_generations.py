"""Rows of generations that a newer reading of their run, or of their trace, has replaced: kept a while, then deleted."""

from __future__ import annotations

import json
import logging
import time
from collections import deque

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.interpret.sql import load
from retrospan.ingest.warehouse.error_codes import ACCESS_DENIED
from retrospan.schemas.engines import Form
from retrospan.schemas.errors import SqlError
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.store import Parameters, Settings, Store
from retrospan.schemas.typed_rows import typed_rows

_LOG = logging.getLogger("retrospan.interpret")

#: Superseded rows stay this long, for queries that began with them.
KEEP_SECONDS = 120.0

#: And are deleted together: that takes most of a second of the processor, of one run or of a hundred.
COLLECT_SECONDS = 30.0

#: Of so many runs and traces at a time, the first to be superseded: after a rebuild there are many. To ask that of one
#: table takes 0.2 s then.
MOST_AT_ONCE = 10_000

#: What was read so long before the last reading may have replaced rows that the process before had no time to delete.
LEFT_SECONDS = 300.0

#: While nothing can be deleted so many are remembered. The rows of those before them stay, behind no pointer.
MOST_WAITING = 200_000

#: Whoever interprets does not wait for it: the engine deletes beside what it merges, and waits for merges that began.
_IN_BACKGROUND: Settings = {"lightweight_deletes_sync": 0}

#: Tables that replace their rows by themselves; of all others superseded rows must be deleted.
_REPLACING = ("traces", "runs")
GENERATIONAL = tuple(name for name in TABLES if name not in _REPLACING)

_OF_TRACES = ("spans",)


class StaleGenerations:
    """What is to be deleted once nobody reads it any more. Belongs to one thread."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, str, str, str, int]] = deque()
        # What tables are still to be asked to delete, of what was taken from those that wait.
        self._asking: deque[Parameters] = deque()
        self._again_at = 0.0  # later than now only after a refusal
        self._collected = -COLLECT_SECONDS
        self._has_begun = False
        self._failing: dict[str, str] = {}  # why, by table

    def begin(self, store: Store) -> None:
        """Go on with what the process before this one had no time to delete. Looks once."""
        if self._has_begun:
            return
        asked: Parameters = {"within": int(LEFT_SECONDS * 1e9), "most": MOST_AT_ONCE}
        found = typed_rows(store, tuple[str, str, str, int], load("replaced_lately"), asked)
        self._has_begun = True
        for key, tenant, name, generation in found:
            self._note(key, tenant, name, generation)

    def note(self, tenant: str, run_id: str, generation: int) -> None:
        """From now on this is the newest generation of the run; those before it have been replaced."""
        self._note("run_id", tenant, run_id, generation)

    def note_trace(self, tenant: str, trace_id: str, generation: int) -> None:
        """From now on this is the newest generation of the trace; those before it have been replaced."""
        self._note("trace_id", tenant, trace_id, generation)

    def _note(self, key: str, tenant: str, name: str, generation: int) -> None:
        now = time.monotonic()
        self._waiting.append((now, key, tenant, name, generation))
        while (self._failing or now < self._again_at) and len(self._waiting) > MOST_WAITING:
            self._waiting.popleft()

    def collect(self, store: Store, form: Form) -> None:
        """Have the rows of generations deleted that were superseded long enough ago; the engine does it soon.

        One table is asked at each call: runs that wait to be read are not held up by all of them. As long as the engine
        cannot do what it was asked before, it is not asked for more, and the log says why.
        """
        now = time.monotonic()
        if self._asking:
            if now >= self._again_at:
                # Should it fail: what is read meanwhile is not to fail with it.
                self._again_at = now + COLLECT_SECONDS
                store.command(form.everywhere(load("delete_superseded")), self._asking[0], _IN_BACKGROUND)
                self._asking.popleft()
                self._again_at = now
            return
        if now - self._collected < COLLECT_SECONDS or not self._waiting:
            return
        if now - self._waiting[0][0] < KEEP_SECONDS:
            return
        self._collected = now
        self._look(store, form)
        if not self._failing:
            self._take(now, store.longest_parameter, form)

    def _take(self, now: float, room: int, form: Form) -> None:
        """Take what waited long enough, in so many characters: a server reads no address of any length."""
        newest: dict[str, dict[str, int]] = {
            "run_id": {},
            "trace_id": {},
        }  # by the JSON of a tenant and a name
        while self._waiting and sum(map(len, newest.values())) < MOST_AT_ONCE:
            since, key, tenant, name, generation = self._waiting[0]
            named = json.dumps([tenant, name])
            room -= len(named) + 1
            if now - since < KEEP_SECONDS or (room < 0 and any(newest.values())):
                break
            newest[key][named] = generation
            self._waiting.popleft()
        for name in GENERATIONAL:
            key = "trace_id" if name in _OF_TRACES else "run_id"
            if of_key := newest[key]:
                # As text: of arrays each element would be an expression, which takes four times as long.
                self._asking.append(
                    {
                        "table": form.local(TABLES[name]),
                        "key": key,
                        "names": f"[{','.join(of_key)}]",
                        "generations": json.dumps([*of_key.values()]),
                    }
                )

    def _look(self, store: Store, form: Form) -> None:
        """Learn at which tables the engine fails with what it was asked before: it tries again by itself, and tells nobody."""
        asked: Parameters = {
            "database": DATABASE,
            "tables": [form.local(TABLES[name]) for name in GENERATIONAL],
        }
        try:
            found = dict(typed_rows(store, tuple[str, str], load("failed_mutations"), asked))
        except SqlError as refusal:
            if refusal.code != ACCESS_DENIED:
                raise
            found = {}  # not every account may look
        before, self._failing = self._failing, found
        for table, reason in found.items():
            # Once for each: the reason may tell another size each time.
            if table not in before:
                _LOG.warning(
                    "superseded rows are not deleted while the engine fails to alter %s (system.mutations): %.300s",
                    table,
                    reason,
                )
