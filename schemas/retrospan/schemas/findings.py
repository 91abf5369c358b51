"""The canonical rows of what is wrong with runs: they mirror the table `canon_findings`, column for column.

As in `retrospan.schemas.canonical`, every row names its run and the run's `generation`, and unknown is None.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class FindingRow:
    """One thing that a rule found wrong with a run, from the rows of the run alone."""

    tenant: str
    run_id: str
    generation: int
    rule: str
    severity: str  # info | warning | error
    step: int | None
    agent_name: str | None
    tool_name: str | None
    evidence: list[str] = field(default_factory=list)  # references of what shows it
    explanation: str
    at: int
    idempotency_key: str | None = None  # of an unconfirmed effect: a call with it in another run settles it
