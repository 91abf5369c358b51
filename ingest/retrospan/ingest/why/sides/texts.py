"""Sentences of what is new and what is gone in instructions, definitions and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrospan.ingest.row_values import text_of
from retrospan.ingest.why.columns import counted
from retrospan.ingest.why.sentence import Basis, Quote, Row, Sentence
from retrospan.ingest.why.sides.circumstance import Change, number_of, place_of, varying
from retrospan.ingest.why.sides.lines import (
    Line,
    common_lines,
    differing_lines,
    differing_members,
    differing_tools,
    text_of_instructions,
)
from retrospan.ingest.why.sides.rows import Place, SideRows

#: Texts of each side that are compared where nearly each run has one of its own.
SAMPLED = 6
#: Lines of one text that are told, and characters around the place where two results differ.
_TOLD, _AROUND = 30, 80


def setups_wanted(rows: SideRows, found: Sequence[Change]) -> list[Place]:
    """Return the model calls whose instructions and definitions are compared."""
    places = [
        place
        for change in found
        if change.part in ("system_prompt", "tool_definitions")
        for place in change.places()
    ]
    for _, rows_of_name in varying(rows, "system_prompt"):
        places += [place_of(row) for side in _sampled(rows_of_name) for row in side]
    return list(dict.fromkeys(place for place in places if place is not None))


def line_by_line(rows: SideRows, found: Sequence[Change]) -> Iterator[Sentence]:
    """Yield the lines that differ, text by text."""
    for change in found:
        before, now = change.places()
        if change.part == "parameters" and change.lost and change.gained:
            was, is_now = change.lost[0], change.gained[0]
            found_lines = differing_members(str(was["value"]), str(is_now["value"]))
            yield from _told(change, found_lines, _basis(rows, was), _basis(rows, is_now))
        elif change.part in ("system_prompt", "tool_definitions") and before and now:
            yield from _of_places(rows, change, before, now)
        elif change.part == "tool_result" and before and now:
            yield from _of_results(rows, change, before, now)
    for sample in _samples(rows):
        yield from _told(sample.change, sample.lines, _basis_of(sample.before[0]), _basis_of(sample.now[-1]))


def in_common(rows: SideRows) -> Iterator[Sentence]:
    """Yield which texts differ from run to run, and had what they have in common changed all the same."""
    for sample in _samples(rows):
        lead, *rest = sample.change.called
        said: list[str | Quote] = [f"{str(lead)[0].upper()}{str(lead)[1:]}", *rest]
        said.append(
            f" is another in nearly each run. What it has in common in {len(sample.now)} runs was changed too: it is "
            f"not that of {len(sample.before)} runs before"
        )
        for place, (run_id, _) in enumerate(sample.now[-3:]):
            said += ["; runs that show it: " if not place else ", ", Quote(run_id)]
        rests = [_basis_of(place) for place in (*sample.before, *sample.now)]
        yield Sentence("system_prompt", [*said, "."], rests, None, sample.now[-1][0])


@dataclass(frozen=True, slots=True)
class _Sample:
    """Where some texts of each side stand, and the lines that all of one side have in common and the other lacks."""

    change: Change
    before: Sequence[Place]
    now: Sequence[Place]
    lines: Sequence[Line]


def _samples(rows: SideRows) -> Iterator[_Sample]:
    """Yield those of prompts that differ from run to run, where something in common was changed."""
    for name, values in varying(rows, "system_prompt"):
        before, now = ([*_places(rows, side)] for side in _sampled(values))
        if min(len(before), len(now)) < SAMPLED:
            continue
        texts = [
            [text_of_instructions(text_of(rows.setups[place], "instructions")) or "" for place in side]
            for side in (before, now)
        ]
        if lines := common_lines(*texts):
            yield _Sample(Change("system_prompt", name, (), ()), before, now, lines)


def _of_places(rows: SideRows, change: Change, before: Place, now: Place) -> Iterator[Sentence]:
    column = "instructions" if change.part == "system_prompt" else "definitions"
    a, b = rows.setups.get(before), rows.setups.get(now)
    was = None if a is None else text_of(a, column)
    is_now = None if b is None else text_of(b, column)
    if a is None or b is None or was is None or is_now is None:
        return
    if column == "instructions":
        found = differing_lines(text_of_instructions(was) or "", text_of_instructions(is_now) or "")
    else:
        found = differing_tools(was, is_now)
    yield from _told(change, found, _basis_of(before), _basis_of(now))
    cut = [row for row in (a, b) if number_of(row, f"{column}_length") > len(text_of(row, column) or "")]
    if cut:
        said: list[str | Quote] = ["Only the beginning was compared of ", *change.called]
        said.append(f": that has {number_of(cut[0], f'{column}_length'):,} characters.")
        yield Sentence("cut", said, [_basis_of(before), _basis_of(now)])


def _of_results(rows: SideRows, change: Change, before: Place, now: Place) -> Iterator[Sentence]:
    """Yield where two results of equal calls differ first, with what stands around it."""
    a, b = rows.results.get(before), rows.results.get(now)
    was = None if a is None else text_of(a, "result")
    is_now = None if b is None else text_of(b, "result")
    if was is None or is_now is None or was == is_now:
        return
    at = next(
        (n for n, (x, y) in enumerate(zip(was, is_now, strict=False)) if x != y), min(len(was), len(is_now))
    )
    start = max(at - _AROUND, 0)
    for lead, text, place in (("Gone from ", was, before), ("New in ", is_now, now)):
        shown = text[start : at + _AROUND]
        said: list[str | Quote] = [lead, *change.called, f", from character {at + 1:,} on: "]
        said.append(Quote(shown) if shown else "nothing: it ends there")
        basis = Basis("tool_calls", {"run_id": place[0], "ordinal": place[1]})
        yield Sentence("new" if place is now else "gone", said, [basis], None, place[0])


def _places(rows: SideRows, values: Sequence[Row]) -> list[Place]:
    """Return where the texts stand, of those that were read."""
    return [place for row in values if (place := place_of(row)) is not None and place in rows.setups]


def _sampled(values: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return the earliest values that only the baseline had, and the latest that only the candidate had."""
    in_time = sorted(values, key=lambda row: str(row["first_at"]))
    before = [row for row in in_time if not number_of(row, "candidate_runs")]
    now = [row for row in in_time if not number_of(row, "baseline_runs")]
    return before[:SAMPLED], now[-SAMPLED:]


def _told(change: Change, found: Sequence[Line], before: Basis, now: Basis) -> Iterator[Sentence]:
    for line in found[:_TOLD]:
        said: list[str | Quote] = ["New in " if line.is_new else "Gone from ", *change.called]
        said += [f", line {line.number}: " if line.number else ": ", Quote(line.text)]
        basis = now if line.is_new else before
        kind = "new" if line.is_new else "gone"
        yield Sentence(kind, said, [basis], None, str(basis.where.get("run_id", "")))
    if len(found) > _TOLD:
        said = [f"{counted(len(found) - _TOLD, 'more line')} differ in ", *change.called, "."]
        yield Sentence("more", said, [before, now])


def _basis_of(place: Place) -> Basis:
    return Basis("model_calls", {"run_id": place[0], "ordinal": place[1]})


def _basis(rows: SideRows, row: Row) -> Basis:
    return rows.basis("circumstances", part=str(row["part"]), name=str(row["name"]), value=str(row["value"]))
