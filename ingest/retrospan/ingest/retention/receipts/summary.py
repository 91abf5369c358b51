"""What a plan found or an apply did, in figures: by class and rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from retrospan.ingest.retention.policy.units import Unit
from retrospan.ingest.retention.receipts.evidence import Evidence


@dataclass(slots=True)
class Group:
    """What is due by one rule. `oldest` and `newest` are last arrivals, Unix nanoseconds."""

    what: str
    run_class: str
    rule: str
    runs: int = 0
    spans: int = 0
    log_records: int = 0
    rows: int = 0
    bytes: int = 0
    oldest: int = 0
    newest: int = 0


@dataclass(slots=True)
class Summary:
    """All of it. `now` is the time by which ages counted, Unix nanoseconds."""

    policy: str
    now: int
    units: int = 0
    pinned: int = 0
    """Due, and kept because something that is kept rests on them."""
    returned: int = 0
    """Due by their row, and not by what came in since."""
    held: int = 0
    """Spared because somebody held or flagged them, or what rests on them, at another collector meanwhile."""
    unlisted: int = 0
    """Due, and not in the plan that was to be carried out: they came to match while it was."""
    plan: str = ""
    """What a plan is known by."""
    bared: int = 0
    """Of the units' runs those that stay, and lose their payloads."""
    partitions: int = 0
    archive: dict[str, int] = field(default_factory=dict)
    groups: dict[tuple[str, str], Group] = field(default_factory=dict)

    def add(self, unit: Unit, evidence: Evidence) -> None:
        """Count a unit."""
        group = self.groups.setdefault(
            (unit.run_class, unit.rule), Group(unit.what, unit.run_class, unit.rule)
        )
        self.units += len(unit.members)
        self.bared += len(unit.members) if unit.payloads else 0
        group.runs += len(unit.members)
        group.spans += evidence.spans
        group.log_records += evidence.log_records
        group.rows += evidence.rows
        group.bytes += evidence.bytes
        group.oldest = min(group.oldest or evidence.last_arrival, evidence.last_arrival)
        group.newest = max(group.newest, evidence.last_arrival)

    def give_back(self, done: Mapping[str, int]) -> None:
        """Note what became of the log's archive."""
        self.archive = dict(done)

    def line(self, unit: Unit, evidence: Evidence) -> dict[str, object]:
        """One unit as it is listed; times are Unix nanoseconds."""
        return {
            "what": unit.what,
            "tenant": unit.tenant,
            "runs": [member.run_id for member in unit.members],
            "class": unit.run_class,
            "rule": unit.rule,
            "due_at": unit.due_at,
            "last_arrival": evidence.last_arrival,
            "spans": evidence.spans,
            "log_records": evidence.log_records,
            "rows": evidence.rows,
            "bytes": evidence.bytes,
        }

    def told(self) -> dict[str, object]:
        """As the last line of the command."""
        return {
            "policy": self.policy,
            "at": self.now,
            "runs": self.units - self.bared,
            "payloads": self.bared,
            "pinned": self.pinned,
            "returned": self.returned,
            "held": self.held,
            **({"unlisted": self.unlisted} if self.unlisted else {}),
            **({"plan": self.plan} if self.plan else {}),
            "partitions": self.partitions,
            **self.archive,
            "groups": [
                {
                    "what": group.what,
                    "class": group.run_class,
                    "rule": group.rule,
                    "runs": group.runs,
                    "spans": group.spans,
                    "log_records": group.log_records,
                    "rows": group.rows,
                    "bytes": group.bytes,
                    "oldest": group.oldest,
                    "newest": group.newest,
                }
                for group in sorted(self.groups.values(), key=lambda group: (-group.runs, group.rule))
            ],
        }
