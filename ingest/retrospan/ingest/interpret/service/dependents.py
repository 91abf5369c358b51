"""Runs that depend on the run before them in their conversation: when its final history changes, they are read again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from retrospan.ingest.interpret.conversations import Conversations
from retrospan.ingest.interpret.service.job import RunSummary
from retrospan.ingest.interpret.sql import load
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows


def final_histories(store: Store, tenant: str, run_ids: list[str]) -> dict[str, str]:
    """Return the hash of the final history of each of these runs that is known already."""
    if not run_ids:
        return {}
    asked = {"tenant": tenant, "run_ids": run_ids}
    rows = typed_rows(store, tuple[str, int, str], load("histories_of"), asked)
    return {run_id: history for run_id, _, history in rows}


def dependent_runs(
    store: Store, tenant: str, runs: Iterable[RunSummary], before: Mapping[str, str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield run id and trace ids of the runs, these apart, that lean on one whose final history was another `before`."""
    runs = list(runs)
    changed: dict[str, int] = {}
    for run in runs:
        if run.conversation_id is not None and before.get(run.run_id) != run.final_history_hash:
            earliest = changed.get(run.conversation_id, run.started_at)
            changed[run.conversation_id] = min(earliest, run.started_at)
    if not changed:
        return
    here = {run.run_id for run in runs}
    # One look for the whole batch: a look takes ten milliseconds, whatever it is for.
    for run_id, trace_ids in Conversations(store, tenant).leaning(changed):
        if run_id not in here:
            yield run_id, trace_ids
