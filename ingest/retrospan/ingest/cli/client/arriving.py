"""Waits until everything that was sent of a run is interpreted: a run to be replayed or kept was often sent just before."""

from __future__ import annotations

import time

from retrospan.ingest.cli.client.empty import being_read
from retrospan.ingest.cli.client.references import find_run, short
from retrospan.ingest.cli.client.session import Session

#: How long what has arrived may take to be read. Where others send all the time, something always waits.
PATIENCE_SECONDS = 15.0
_PAUSE_SECONDS = 0.1
#: Why a run is incomplete whose end is not on record.
NOT_ENDED = "not_ended"


def find_whole_run(session: Session, typed: str) -> str:
    """Return the id of the run that was meant, once what the collector has received of it can be asked for.

    It waits for that at most `PATIENCE_SECONDS`, for `last` and for a run that has not ended. Where the end of the run is not
    there then either, a remark says so. Raises NotFound as `find_run` does.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    run_id = None if typed == "last" else find_run(session, typed)
    while run_id is None or not has_ended(session, run_id):
        if being_read(session.warehouse.health()) is None or time.monotonic() > until:
            break
        time.sleep(_PAUSE_SECONDS)
    run_id = run_id or find_run(session, typed)
    if not has_ended(session, run_id):
        session.screen.note((f"run {short(run_id)} has not ended, or its end is not on record", "yellow"))
    return run_id


def has_ended(session: Session, run_id: str) -> bool:
    """Return whether nothing says that the run goes on."""
    about = session.one("run_end", run_id=run_id)
    return about is None or about["incomplete_because"] != NOT_ENDED
