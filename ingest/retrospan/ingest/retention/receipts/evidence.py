"""The content of units before their deletion (rows, bytes and a hash, for the receipt), and whether they are still due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.retention.policy.units import Unit
from retrospan.ingest.retention.sql import load
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows

_MOST_RANGES = 1000


def key_of(name: str) -> str:
    """By which column the rows of a canonical table belong to what is deleted. `name` is that of `TABLES`."""
    return "trace_id" if name in ("traces", "spans") else "run_id"


@dataclass(slots=True)
class Evidence:
    """What there is of one unit. Times are Unix nanoseconds."""

    spans: int = 0
    log_records: int = 0
    arrivals: int = 0
    derived: int = 0
    bytes: int = 0
    last_arrival: int = 0
    sequences: set[int] = field(default_factory=set)
    hashes: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return self.spans + self.log_records + self.arrivals + self.derived

    @property
    def content_hash(self) -> str:
        """SHA-256 over the hashes of the traces' spans and log records."""
        return sha256("\n".join(self.hashes).encode()).hexdigest()

    def ranges(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the records of the log that hold it, as ranges: where each begins, where each ends.

        Too many ranges become fewer and wider ones: they say where to look, not what is there.
        """
        firsts: list[int] = []
        lasts: list[int] = []
        for sequence in sorted(self.sequences):
            if lasts and sequence == lasts[-1] + 1:
                lasts[-1] = sequence
            else:
                firsts.append(sequence)
                lasts.append(sequence)
        step = -(-len(firsts) // _MOST_RANGES) or 1
        # Ranges of different logs lie 2^40 apart and must not become one.
        if step > 1:
            logs = {first >> 40 for first in firsts}
            by_log = [[i for i, first in enumerate(firsts) if first >> 40 == log] for log in sorted(logs)]
            cut = [places[i : i + step] for places in by_log for i in range(0, len(places), step)]
            firsts, lasts = [firsts[part[0]] for part in cut], [lasts[part[-1]] for part in cut]
        return tuple(firsts), tuple(lasts)


def gather(store: Store, tenant: str, units: Sequence[Unit]) -> list[Evidence]:
    """Look at what there is of each unit."""
    found = [Evidence() for _ in units]
    by_trace = {trace: place for place, unit in enumerate(units) for trace in unit.trace_ids}
    asked = {"tenant": tenant, "trace_ids": list(by_trace)}
    for question, is_span in (("evidence_of_spans", True), ("evidence_of_logs", False)):
        rows = typed_rows(store, tuple[str, int, int, str, int], load(question), asked)
        for trace, number, size, digest, arrived_at in rows:
            of = found[by_trace[trace]]
            if is_span:
                of.spans += number
            else:
                of.log_records += number
            of.bytes += size
            of.last_arrival = max(of.last_arrival, arrived_at)
            of.hashes.append(f"{trace} {digest}")
    arrivals = typed_rows(store, tuple[str, int, list[int]], load("evidence_of_arrivals"), asked)
    for trace, number, sequences in arrivals:
        of = found[by_trace[trace]]
        of.arrivals += number
        of.sequences.update(sequences)
    by_run = {member.run_id: place for place, unit in enumerate(units) for member in unit.members}
    for place, number in _derived(store, tenant, {"run_id": by_run, "trace_id": by_trace}):
        found[place].derived += number
    return found


def _derived(store: Store, tenant: str, places: Mapping[str, Mapping[str, int]]) -> Iterable[tuple[int, int]]:
    for name, table in TABLES.items():
        key = key_of(name)
        asked = {"table": table, "key": key, "tenant": tenant, "names": list(places[key])}
        for named, number in typed_rows(store, tuple[str, int], load("count_rows_by"), asked):
            yield places[key][named], number
