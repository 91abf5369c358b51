"""Which good run a run is compared with: the last one like it, and how that was found."""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.why.columns import counted, whole
from retrospan.ingest.why.rows import Baseline, RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Row, Sentence, Value

#: Runs of the same agent and service that are looked at, before a run and after it.
BEFORE, AFTER = 120, 60
#: An input is like another up to this distance of their 4-grams: 0 is equal, 1 has nothing in common.
LIKE = 0.4


def choose(rows: RunRows) -> Baseline | None:
    """Return the last good run before this one with an equal input, else the next one after it, else one like it."""
    if rows.run["input"] is None:
        return None
    good = good_peers(rows)
    equal = [row for row in good if row["distance"] == 0]
    like = [row for row in good if _distance(row) <= LIKE]
    for found, how in ((equal, "an equal input"), (like, "an input like it")):
        before = [row for row in found if row["is_before"]]
        if found:
            nearest = (
                "the last good run before it"
                if before
                else "the next good run after it, as none before is like it,"
            )
            run_id = str((before or found)[0]["run_id"])
            return Baseline(run_id, f"{nearest} with {how}", is_equal=found is equal)
    return None


def good_peers(rows: RunRows) -> list[Row]:
    """Return the runs around it that ended ok, with no failed step and no loop, the nearest first."""
    marked = {str(row["run_id"]) for row in rows.signs}
    return [
        row
        for row in rows.peers
        if row["outcome"] == "ok" and not whole(row, "errors") and str(row["run_id"]) not in marked
    ]


def how_chosen(rows: RunRows, baseline: Baseline | None) -> Sentence:
    """Return what the run is compared with and why, or why with none."""
    name, service = rows.run["agent_name"], rows.run["service_name"]
    if baseline is not None:
        said: list[str | Quote] = ["It is compared with run ", Quote(baseline.run_id), f", {baseline.how}"]
        if baseline.is_chosen:
            said.append(" (same agent, same service, no failed step, no loop)")
        key: dict[str, Value] = {"run_id": baseline.run_id}
        if baseline.is_chosen:
            key |= {"outcome": "ok", "errors": 0, "agent_name": _text(name), "service_name": _text(service)}
        return Sentence("baseline", [*said, "."], [Basis("runs", key)], None, baseline.run_id)
    own = [Basis("runs", {"run_id": rows.run_id, "agent_name": _text(name), "service_name": _text(service)})]
    good = good_peers(rows)
    if rows.run["input"] is None:
        why = "its input is not on record, so no run can be told to be like it"
    elif not rows.peers:
        why = "no other run of the same agent and service is on record"
    elif not good:
        why = (
            f"none of the {counted(len(rows.peers), 'run')} of the same agent and service around it went well"
        )
    else:
        nearest = min((_distance(row) for row in good), default=1.0)
        why = (
            f"of the {counted(len(good), 'good run')} of the same agent and service around it none was asked the like "
            f"(the nearest input is {nearest:.2f} away, {LIKE} counts as like)"
        )
        own += _of(good[:1])
    return Sentence("no_baseline", [f"It is compared with no other run: {why}."], own, None, rows.run_id)


def _of(peers: Sequence[Row]) -> list[Basis]:
    return [Basis("runs", {"run_id": str(row["run_id"]), "outcome": "ok"}) for row in peers]


def _distance(row: Row) -> float:
    value = row["distance"]
    return float(value) if isinstance(value, int | float) else 1.0


def _text(value: object) -> str | None:
    return None if value is None else str(value)
