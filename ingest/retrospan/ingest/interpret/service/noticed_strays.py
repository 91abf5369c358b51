"""Log records of no trace that tell what a model answered: noticed when they come.

They touch no trace by themselves: which one they are of shows in what its spans say. Light: it reads no run.
"""

from __future__ import annotations

from retrospan.ingest.interpret.service.run_queue import Touched
from retrospan.ingest.interpret.sql import load
from retrospan.schemas.semconv import CONVERSATION_ID, RESPONSE_MODEL, SESSION_ID
from retrospan.schemas.sequences import LOG_SHIFT, base_of
from retrospan.schemas.store import Parameters, Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

#: So many records of the log are looked at again when it is not known which were noticed.
LOOKED_AT_AGAIN = 10_000
#: How far below a range a record of a trace is looked for, that tells when it arrived.
_BEFORE = 1_000


def touched_by_strays(store: Store, first: int, last: int) -> list[Touched]:
    """Return the traces that records of no trace may be about, of those in a range of one log."""
    base = base_of(first >> LOG_SHIFT)
    asked: Parameters = {
        "first": first,
        "last": last,
        "before": max(base, first - _BEFORE),
        "models": (RESPONSE_MODEL,),
    }
    rows = typed_rows(store, tuple[str, int, int, int, list[str]], load("strays_arrived"), asked)
    touched: list[Touched] = []
    for tenant, began, ended, newest, texts in rows:
        about: Parameters = {
            "tenant": tenant,
            "began": began,
            "ended": ended,
            "texts": texts,
            "names": (CONVERSATION_ID, SESSION_ID),
        }
        for trace_id in typed_column(store, str, load("traces_at"), about) if texts else ():
            touched.append(Touched(tenant, trace_id, 1, (newest,)))
    return touched


def touched_lately(store: Store) -> list[Touched]:
    """Return the traces that the last records of each log may be about: after a crash nobody knows which were noticed."""
    touched: list[Touched] = []
    for newest in typed_column(store, int, load("newest_of_logs")):
        base = base_of(newest >> LOG_SHIFT)
        touched += touched_by_strays(
            store, max(base, newest - LOOKED_AT_AGAIN), base_of((newest >> LOG_SHIFT) + 1) - 1
        )
    return touched
