"""The properties of a run that a policy examines, and the run's class."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

HELD, OTHER = "held", "other"
#: In the order in which they apply. `held` comes before all and has no age; `other` are traces without a run.
CLASSES = ("golden", "flagged", "test", "eval", "demo", "error", "incomplete", "ok", OTHER)
_KINDS = ("test", "eval", "demo")


class Candidate(NamedTuple):
    """A run as it was last read, or a trace that holds none (`kind` trace). `arrived_at` is its last arrival, Unix ns."""

    tenant: str
    run_id: str
    run_kind: str = "production"
    outcome: str = "ok"
    agent_name: str = ""
    environment: str = ""
    flagged: bool = False
    held: bool = False
    arrived_at: int = 0
    trace_ids: Sequence[str] = ()
    is_run: bool = True


def class_of(run: Candidate) -> str:
    """Return the first that applies of held, golden, flagged, test, eval and demo, error and incomplete, ok.

    A run that is still running is incomplete: that is what it will be if nothing more comes.
    """
    if run.held:
        return HELD
    if not run.is_run:
        return OTHER
    if run.run_kind == "golden":
        return "golden"
    if run.flagged:
        return "flagged"
    if run.run_kind in _KINDS:
        return run.run_kind
    return run.outcome if run.outcome in ("ok", "error") else "incomplete"


def share_of(run_id: str) -> float:
    """Return where a run lies between 0 and 1, by its id alone: the same in every sample, on every machine."""
    return int.from_bytes(sha256(run_id.encode()).digest()[:8]) / 2**64
