"""What is missing from a run, in words, to be printed before its data."""

from __future__ import annotations

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.references import short
from retrospan.ingest.cli.client.rows import text_of
from retrospan.ingest.cli.client.session import Session

_BECAUSE = {
    "no_root": "its root span never arrived",
    "missing_parent": "the parent of some of its spans never arrived",
    "not_ended": "it began, and nothing shows that it ended",
    "interrupted": "it was interrupted",
    "not_interpreted": "it could not be interpreted; `interpretation_problems` says why",
}


_ENDED_BY = {
    "spool": "what its process left behind shows that it is gone",
    "resumed": "another run continues it",
}


def missing(run: Row) -> str | None:
    """`run 4bf92f35 is incomplete: …`, or None for a run that ended."""
    outcome = text_of(run, "outcome")
    name = f"run {short(str(run['run_id']))}"
    if outcome == "running":
        return f"{name} is still running: this is what has arrived so far."
    if outcome == "killed":
        how = _ENDED_BY.get(text_of(run, "ended_by") or "", "it did not end by itself")
        return f"{name} was killed: {how}. This is what it recorded."
    if outcome == "lost":
        return f"{name} is lost: its process stopped saying that it is alive. This is what it recorded."
    if outcome == "incomplete":
        reason = text_of(run, "incomplete_because") or ""
        return f"{name} is incomplete: {_BECAUSE.get(reason, reason or 'spans are missing')}. Steps may be missing."
    return None


def warn_if_incomplete(session: Session, *runs: Row | None) -> None:
    """Say on standard error which of the runs are incomplete, and why."""
    for run in runs:
        said = missing(run) if run is not None else None
        if said is not None:
            session.screen.warn(said)
