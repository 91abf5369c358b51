"""What a plan listed, in one line that an `apply` can be bound to: the time it was made for, how many runs, and a hash.

1798761600000000000-12-5f0c…     Unix nanoseconds, runs and traces, SHA-256 over what is due and its content (hex, 32)
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import sha256

from retrospan.ingest.retention.policy.units import Unit
from retrospan.ingest.retention.receipts.evidence import Evidence
from retrospan.schemas.errors import BadRequest

_FORM = re.compile(r"(\d{1,19})-(\d{1,12})-([0-9a-f]{32})")
_UNIT_BYTES = 16


@dataclass(frozen=True, slots=True)
class PlanMark:
    """What a plan prints of itself. `at` is the time by which it judged, Unix nanoseconds."""

    at: int
    runs: int
    digest: str

    @classmethod
    def parse(cls, text: str) -> PlanMark:
        """Raise BadRequest for anything but what a plan printed."""
        if (found := _FORM.fullmatch(text.strip())) is None:
            raise BadRequest(
                f"'{text[:80]}' is not what a plan printed behind --plan: copy it whole from `retrospan retention plan`."
            )
        return cls(int(found[1]), int(found[2]), found[3])

    def __str__(self) -> str:
        return f"{self.at}-{self.runs}-{self.digest}"


class Listed:
    """What was found due, in the order in which it was found: that is always the same."""

    def __init__(self) -> None:
        self._runs = 0
        self._all = sha256()
        self._units: set[bytes] = set()

    def add(self, unit: Unit, evidence: Evidence) -> None:
        """Count a unit in."""
        known = _digest(unit, evidence)
        self._runs += len(unit.members)
        self._all.update(known)
        self._units.add(known)

    def holds(self, unit: Unit, evidence: Evidence) -> bool:
        """Return whether a unit is in it, with just this content."""
        return _digest(unit, evidence) in self._units

    def mark(self, at: int) -> PlanMark:
        """Return what it is known by."""
        return PlanMark(at, self._runs, self._all.hexdigest()[:32])


def _digest(unit: Unit, evidence: Evidence) -> bytes:
    said = [
        unit.what,
        unit.tenant,
        sorted(member.run_id for member in unit.members),
        list(unit.trace_ids),
        unit.run_class,
        unit.rule,
        evidence.spans,
        evidence.log_records,
        sorted(evidence.hashes),
    ]
    return sha256(json.dumps(said).encode()).digest()[:_UNIT_BYTES]
