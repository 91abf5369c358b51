"""Which good run a run is compared with: the last one like it, and how that was found."""

from __future__ import annotations

from retrospan.ingest.row_values import text_of, whole
from retrospan.ingest.why.columns import counted, kin
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
    """Return the good runs around it that begin as it does: where another run stopped, or from the start."""
    return [row for row in _good(rows) if _goes_on(row) == _goes_on(rows.run)]


def _goes_on(run: Row) -> str:
    """Return how a run goes on from the middle of another one's way, nothing where it does not."""
    link = str(run["parent_link"] or "")
    return link if link in ("resumes", "forks") else ""


def _good(rows: RunRows) -> list[Row]:
    """Return the runs around it that ended ok, with no failed step and no loop, the nearest first."""
    marked = {str(row["run_id"]) for row in rows.signs}
    return [
        row
        for row in rows.peers
        if row["outcome"] == "ok" and not whole(row, "errors") and str(row["run_id"]) not in marked
    ]


def how_chosen(rows: RunRows, baseline: Baseline | None) -> Sentence:
    """Return what the run is compared with and why, or why with none."""
    names = ("agent_name", "service_name")
    known: dict[str, Value] = {name: text_of(rows.run, name) for name in names if rows.run[name] is not None}
    if baseline is None:
        why, more = _why_none(rows)
        rests = [Basis("runs", {"run_id": rows.run_id, **known}), *more]
        return Sentence(
            "no_baseline", [f"It is compared with no other run: {why}."], rests, None, rows.run_id
        )
    said: list[str | Quote] = ["It is compared with run ", Quote(baseline.run_id), f", {baseline.how}"]
    key: dict[str, Value] = {"run_id": baseline.run_id}
    if baseline.is_chosen:
        said.append(f" ({kin(rows.run)}, with no failed step and no loop)")
        key |= {**known, "outcome": "ok", "errors": 0}
    return Sentence("baseline", [*said, "."], [Basis("runs", key)], None, baseline.run_id)


def _why_none(rows: RunRows) -> tuple[str, list[Basis]]:
    """Return why no run is like it, and the rows that this rests on beside its own."""
    good, own = good_peers(rows), kin(rows.run)
    if rows.run["input"] is None:
        return "its input is not on record, so no run can be told to be like it", []
    if not rows.peers:
        return f"no other run {own} is on record", []
    if not good and _good(rows):
        link = _goes_on(rows.run)
        began = f"it {link} another run" if link else "it goes on from no other run"
        return f"{began}, and no good run {own} around it does that", []
    if not good:
        return f"none of the {counted(len(rows.peers), 'run')} {own} around it went well", []
    nearest = min((_distance(row) for row in good), default=1.0)
    why = (
        f"of the {counted(len(good), 'good run')} {own} around it none was asked the like "
        f"(the nearest input is {nearest:.2f} away, {LIKE} counts as like)"
    )
    return why, [Basis("runs", {"run_id": str(row["run_id"]), "outcome": "ok"}) for row in good[:1]]


def _distance(row: Row) -> float:
    value = row["distance"]
    return float(value) if isinstance(value, int | float) else 1.0
