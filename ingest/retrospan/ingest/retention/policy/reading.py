"""Waits until the runs in question have been interpreted: one that has not may be golden, or depend on one that is due."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from retrospan.ingest.retention.sql import load
from retrospan.schemas.errors import WarehouseUnavailable
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows

Report = Callable[[Mapping[str, object]], None]
#: How long the number of runs that wait may stay what it is, in seconds: a long run takes minutes.
PATIENCE_SECONDS = 300.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


def require_read(
    store: Store,
    report: Report,
    go_on: Callable[[], None],
    set_aside: Callable[[], int] = lambda: 0,
    patience: float = PATIENCE_SECONDS,
) -> None:
    """Return once every record that has arrived by now was read as part of its run, as long as reading gets on.

    What arrives meanwhile is not waited for: it is younger than anything that can be due. `go_on` is called now and
    then; it may raise. `set_aside` counts the traces that could not be read: they alone are not waited for in the end.

    Raises:
        WarehouseUnavailable: so many seconds (`patience`) went by without one being read.
    """
    ((until, _),) = typed_rows(store, tuple[int, int], load("newest_times"))
    least, total, since, pause = -1, 0, time.monotonic(), _FIRST_PAUSE
    while True:
        go_on()
        ((waiting, trace_id),) = typed_rows(store, tuple[int, str], load("traces_waiting"), {"until": until})
        total = max(total, waiting)
        if not waiting:
            return
        if least < 0 or waiting < least:
            least, since = waiting, time.monotonic()
        elif time.monotonic() - since > patience:
            if waiting <= set_aside():
                return
            raise WarehouseUnavailable(
                f"Traces that wait to be interpreted: {waiting}, one of them {trace_id}; none was in {patience:.0f} s. What "
                "runs are kept for their sake is not known, so nothing is deleted. See interpretation in /health."
            )
        report(
            {"phase": "waiting for interpretation", "done": total - waiting, "total": total, "unit": "traces"}
        )
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
