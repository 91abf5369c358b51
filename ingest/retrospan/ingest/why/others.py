"""Which other runs went wrong in the same way, and since when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrospan.ingest.row_values import text_of
from retrospan.ingest.why.baseline import AFTER, BEFORE
from retrospan.ingest.why.columns import counted, kin
from retrospan.ingest.why.problems import Problem
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Row, Sentence, Value

#: So many runs that show the same are named.
_NAMED = 3


def others(rows: RunRows, problems: Sequence[Problem]) -> Iterator[Sentence]:
    """Yield how many of the runs around this one show the same sign, which they are, and which was the first."""
    own = _sign(rows, problems)
    if own is None:
        return
    what, signs = _named(own), _same(rows, own)
    before = [row for row in rows.peers if row["is_before"]]
    after = [row for row in rows.peers if not row["is_before"]]
    nearest = ", the nearest in time" if len(before) >= BEFORE or len(after) >= AFTER else ""
    around = (
        f"{counted(len(rows.peers), 'run')} around it {kin(rows.run)} "
        f"({len(before):,} before it, {len(after):,} after it{nearest})"
    )
    if not signs:
        rests = [_basis(own)]
        if own["view"] == "loops" or own["error_type"]:
            closest = (str(row["run_id"]) for row in rows.peers[:1])
            rests += [Basis(str(own["view"]), _key(own, run_id), is_there=False) for run_id in closest]
        said: list[str | Quote] = ["None of the ", around, " shows the same: ", *what, "."]
        if not rows.peers:
            said = [f"No other run {kin(rows.run)} is on record."]
            rests = [Basis("runs", {"run_id": rows.run_id})]
        yield Sentence("alone", said, rests, None, rows.run_id)
        return
    runs = [row for row in rows.peers if str(row["run_id"]) in signs]
    said = [
        f"{len(runs):,} of the ",
        around,
        " shows the same: " if len(runs) == 1 else " show the same: ",
        *what,
    ]
    for place, row in enumerate(runs[:_NAMED]):
        said += [", such as run " if not place else ", ", Quote(str(row["run_id"]))]
    rests = [_basis(signs[str(row["run_id"])]) for row in runs[:_NAMED]]
    yield Sentence("same", [*said, "."], rests, None, rows.run_id)
    yield _since(rows, runs, before, signs)


def _since(rows: RunRows, runs: Sequence[Row], before: Sequence[Row], signs: dict[str, Row]) -> Sentence:
    shown = [row for row in runs if row["is_before"]]
    basis = [Basis("runs", {"run_id": rows.run_id})]
    if not shown:
        said: list[str | Quote] = [
            f"This run is the first of them that does; it began {rows.run['started_at']}."
        ]
        return Sentence("since", said, basis, None, rows.run_id)
    first = shown[-1]
    said = ["The first of them is run ", Quote(str(first["run_id"])), f", which began {first['started_at']}"]
    earlier = before[before.index(first) + 1 :]
    if earlier:
        said.append(f"; {counted(len(earlier), 'run')} before that did not show it.")
    else:
        said.append("; it is the earliest that was looked at, so it may have begun before.")
    first_id = str(first["run_id"])
    return Sentence(
        "since", said, [Basis("runs", {"run_id": first_id}), _basis(signs[first_id])], None, first_id
    )


def _sign(rows: RunRows, problems: Sequence[Problem]) -> Row | None:
    """Return the sign of the first problem that other runs can be looked through for."""
    for problem in problems:
        for row in rows.signs:
            if row["run_id"] != rows.run_id:
                continue
            if problem.kind == "loop" and row["view"] == "loops":
                return row
            failure = problem.failure
            if (
                problem.kind == "failure"
                and failure is not None
                and row["view"] == "failures"
                and "origin" in failure
            ):
                same = row["sign"] == failure["origin"] and row["error_type"] == (
                    text_of(failure, "error_type") or ""
                )
                if same:
                    return row
    return None


def _same(rows: RunRows, own: Row) -> dict[str, Row]:
    return {
        str(row["run_id"]): row
        for row in rows.signs
        if row["run_id"] != rows.run_id
        and all(row[name] == own[name] for name in ("view", "sign", "error_type"))
    }


def _named(sign: Row) -> list[str | Quote]:
    if sign["view"] == "loops":
        return ["a loop of ", Quote(str(sign["sign"]))]
    kind = str(sign["error_type"])
    origin = {
        "reasoning": "a failed request to the model",
        "tool_response": "a failed tool",
        "tool_invocation": "a tool that could not be called",
        "interpretation": "a failure outside the steps",
    }
    named: list[str | Quote] = [origin.get(str(sign["sign"]), str(sign["sign"]))]
    return [*named, ", ", Quote(kind)] if kind else [*named, ", with no type of error on record"]


def _key(sign: Row, run_id: str) -> dict[str, Value]:
    if sign["view"] == "loops":
        return {"run_id": run_id, "tool_name": str(sign["sign"])}
    key: dict[str, Value] = {"run_id": run_id, "origin": str(sign["sign"])}
    # An empty type and an unknown one are one sign.
    return {**key, "error_type": str(sign["error_type"])} if sign["error_type"] else key


def _basis(sign: Row) -> Basis:
    return Basis(str(sign["view"]), _key(sign, str(sign["run_id"])))
