"""Sentences of what was changed between the sides, and what was asked of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from retrospan.ingest.row_values import texts_of
from retrospan.ingest.why.columns import counted, quote_of
from retrospan.ingest.why.sentence import Basis, Quote, Row, Sentence
from retrospan.ingest.why.sides.circumstance import INPUTS, SETUPS, VERSIONS, Change, number_of, place_of
from retrospan.ingest.why.sides.metrics import METRICS
from retrospan.ingest.why.sides.rows import Place, SideRows, clock

#: Values of one change that are told, and runs that are named for it.
_TOLD, _NAMED = 3, 3
#: So near to a moment that something began about then.
_MARGIN_SECONDS = 6 * 3_600
#: Characters of a result that tell it from others: where it differs is told line by line.
_BEGINNING = 60
#: Values that are hashes: the text stands elsewhere.
_HASHES = ("system_prompt", "tool_definitions", "tool_result")


def changed(
    rows: SideRows, found: Sequence[Change], common: Sequence[Sentence], has_worse: bool
) -> Iterator[Sentence]:
    """Yield what was changed in what runs ran with, the largest shifts first, and whether it is all there is.

    `common` are the sentences on texts that differ from run to run, of which what they have in common was changed.
    """
    setups = [change for change in found if change.part in SETUPS]
    versions = [change for change in found if change.part in VERSIONS]
    for change in (*setups, *versions):
        yield _sentence(rows, change)
    parts = sorted({str(row["part"]) for row in rows.circumstances} & {*SETUPS, *VERSIONS})
    rests = [rows.basis("circumstances", part=part) for part in parts] or [
        Basis("circumstances", {}, dict(rows.given), is_there=False)
    ]
    yield from common
    if not setups and not common:
        said = "Nothing that is on record was changed between the sides"
        said += ", but for the version: what is new in it is not on record." if versions else "."
        yield Sentence("unchanged", [said], rests)
    elif len(setups) + len(common) == 1 and has_worse:
        said = "This is the only change of what they ran with that is on record."
        only = [_basis(rows, row) for change in setups for row in _values(change)[:1]] or common[0].rests_on
        yield Sentence("only", [said], only)
    elif has_worse:
        yield _several(rows, setups, common)


def _several(rows: SideRows, setups: Sequence[Change], common: Sequence[Sentence]) -> Sentence:
    """Return that several things were changed, and whether they came in the same runs."""
    said: list[str | Quote] = [f"{len(setups) + len(common):,} things were changed"]
    gained = [row for change in setups for row in change.gained[:1]]
    same = {(str(row["found_in"]), row["baseline_runs"], row["candidate_runs"]) for row in gained}
    if len(same) == 1 and len(gained) == len(setups) and not common:
        first = Quote(str(gained[0]["found_in"]))
        said += [", all from run ", first, " on and in as many runs: they may be one change"]
    said.append("; which of them made it worse, the record alone does not tell.")
    rests = [_basis(rows, _values(change)[0]) for change in setups]
    return Sentence("several", said, [*rests, *(basis for each in common for basis in each.rests_on)])


def inputs(rows: SideRows, found: Sequence[Change]) -> Iterator[Sentence]:
    """Yield which kinds of runs became more frequent or less."""
    for change in found:
        if change.part not in INPUTS:
            continue
        for row in _values(change):
            lead = INPUTS[change.part]
            value = Quote(str(row["value"]))
            said: list[str | Quote] = [f"{lead[0].upper()}{lead[1:]}", value, f": {_shares(row)}"]
            if change.part == "tool":
                said.append(" (this may follow from what went wrong, as well as lead to it)")
            yield _with_runs(rows, change.part, said, row)


def at_that_time(rows: SideRows, found: Sequence[Change], metric: str, moment: str) -> Sentence | None:
    """Return which changes began near the moment since when a metric is worse; None if none did."""
    began = datetime.fromisoformat(moment)
    margin = timedelta(seconds=max(rows.stretch, _MARGIN_SECONDS))
    close = [
        (row, change)
        for change in found
        if change.part in {**SETUPS, **VERSIONS}
        for row in change.gained[:1]
        if abs(datetime.fromisoformat(str(row["first_at"])) - began) <= margin
    ]
    if not close:
        return None
    said: list[str | Quote] = [f"{METRICS[metric]}: about then began, too: "]
    for place, (_, change) in enumerate(close):
        said += [", " if place else "", "a change of ", *change.called]
    return Sentence("same_time", [*said, "."], [_basis(rows, row) for row, _ in close])


def results_wanted(found: Sequence[Change]) -> list[Place]:
    """Return the tool calls whose results are compared."""
    return [
        place
        for change in found
        if change.part == "tool_result"
        for place in change.places()
        if place is not None
    ]


def _sentence(rows: SideRows, change: Change) -> Sentence:
    lead, *rest = change.called
    said: list[str | Quote] = [f"{str(lead)[0].upper()}{str(lead)[1:]}", *rest]
    if change.part == "tool_result":
        place = next((each for each in change.places() if each is not None), None)
        call = rows.results.get(place) if place is not None else None
        arguments = None if call is None else quote_of(call, "arguments", "arguments_length")
        said += [" with ", arguments] if arguments is not None else []
    said.append(f" {change.was} changed too")
    values = _values(change)
    for number, row in enumerate(values):
        said.append("; " if number else ": ")
        said += _value(rows, change, row)
        said.append(f" {_shares(row)}")
    more = len(change.gained) + len(change.lost) - len(values)
    said.append(f"; and {counted(more, 'more value')}" if more > 0 else "")
    first = change.gained[0] if change.gained else None
    if first is not None:
        said += [
            "; first in run ",
            Quote(str(first["found_in"])),
            f", which began {clock(first['first_at'])}",
        ]
    return _with_runs(rows, change.part, said, (change.gained or change.lost)[0], values)


def _with_runs(
    rows: SideRows, kind: str, said: list[str | Quote], row: Row, values: Sequence[Row] = ()
) -> Sentence:
    examples = texts_of(row, "candidate_examples")[:_NAMED]
    for place, run_id in enumerate(examples):
        said = [*said, "; runs that show it: " if not place else ", ", Quote(run_id)]
    rests = [_basis(rows, each) for each in values or (row,)]
    return Sentence(kind, [*said, "."], rests, None, examples[0] if examples else "")


def _value(rows: SideRows, change: Change, row: Row) -> list[str | Quote]:
    """Return a value as it is told: itself, or how it is to be told from others where it is a hash."""
    value = str(row["value"])
    if change.part not in _HASHES:
        return [Quote(value)]
    place = place_of(row)
    result = None if place is None else rows.results.get(place)
    if change.part == "tool_result" and result is not None and result["result"] is not None:
        text = str(result["result"])
        return [Quote(text[:_BEGINNING], number_of(result, "result_length"))]
    return ["the one with the hash ", Quote(value[:8])]


def _values(change: Change) -> list[Row]:
    """Return the values that are told, what it was before what it is."""
    return [*change.lost[:_TOLD], *change.gained[:_TOLD]]


def _shares(row: Row) -> str:
    """`in 0 of 200 runs before, in 190 of 200 now`."""
    return (
        f"in {number_of(row, 'baseline_runs'):,} of {number_of(row, 'baseline_n'):,} runs before, "
        f"in {number_of(row, 'candidate_runs'):,} of {number_of(row, 'candidate_n'):,} now"
    )


def _basis(rows: SideRows, row: Row) -> Basis:
    return rows.basis(
        "circumstances", part=str(row["part"]), name=str(row["name"]), value=str(row["value"]), changed=True
    )
