"""The chapters of a report on two sides, from which runs they are to what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from retrospan.ingest.row_values import texts_of
from retrospan.ingest.why.columns import counted
from retrospan.ingest.why.sentence import Basis, Chapter, Quote, Report, Sentence
from retrospan.ingest.why.sides.changed import at_that_time, changed, inputs
from retrospan.ingest.why.sides.circumstance import Change, changes
from retrospan.ingest.why.sides.metrics import moments, otherwise, verdict, worse
from retrospan.ingest.why.sides.rows import LOOKED_AT, SideRows, clock
from retrospan.ingest.why.sides.texts import in_common, line_by_line

TITLES = {
    "sides": "The two sides",
    "worse": "What got worse",
    "moment": "Since when",
    "changed": "What was changed between the sides",
    "lines": "Line by line",
    "inputs": "What was asked of them",
    "different": "What is different otherwise",
    "not_known": "What is not known, and what would tell",
}
#: What is compared only where it is on record, and how it gets there.
_RECORDED = {
    "system_prompt": ("system prompts", "record the content of messages; retrospan doctor names the switch"),
    "model": ("models", "state gen_ai.request.model"),
    "tool_definitions": ("definitions of tools", "state gen_ai.tool.definitions"),
    "agent_version": ("versions of the agent", "state gen_ai.agent.version"),
    "service_version": ("versions of the service", "set service.version in the resource"),
}


def report_of(rows: SideRows) -> Report:
    """Return the report on two sides."""
    found = changes(rows) if rows.is_conclusive else []
    bad = worse(rows) if rows.is_conclusive else []
    told: dict[str, Sequence[Sentence]] = {"sides": [*_sides(rows)], "worse": [*verdict(rows)]}
    if rows.is_conclusive:
        told |= {
            "moment": [*_moments(rows, found)],
            "changed": [*changed(rows, found, [*in_common(rows)], bool(bad))],
            "lines": [*line_by_line(rows, found)],
            "inputs": [*inputs(rows, found)],
            "different": [*otherwise(rows)],
            "not_known": [*_not_known(rows)],
        }
    chapters = [Chapter(name, TITLES[name], sentences) for name, sentences in told.items() if sentences]
    return Report("", chapters, _next(rows, found), _title(rows))


def _title(rows: SideRows) -> str:
    agent = f" of agent {rows.given['agent']}" if rows.given["agent"] else ""
    if rows.since:
        return f"What got worse{agent} since {rows.since}"
    return f"What got worse{agent}: {_span(rows, 'candidate')} against {_span(rows, 'baseline')}"


def _sides(rows: SideRows) -> Iterator[Sentence]:
    for side, size in zip(("baseline", "candidate"), rows.sizes, strict=True):
        said: list[str | Quote] = [f"The {side}: {counted(size, 'run')} {_span(rows, side)}"]
        if rows.given["agent"]:
            said += [" of agent ", Quote(rows.given["agent"])]
        basis = rows.basis("drift") if rows.drift else Basis("drift", {}, dict(rows.given), is_there=False)
        yield Sentence(side, [*said, "."], [basis])
    if rows.is_conclusive and max(rows.sizes) > LOOKED_AT:
        said = [f"What runs ran with is told of {LOOKED_AT} runs of each side at most, chosen by chance."]
        yield Sentence("sample", said, [rows.basis("circumstances")])


def _span(rows: SideRows, side: str) -> str:
    """Return which runs a side has, in words."""
    start, end, version = (rows.given[f"{side}_{bound}"] for bound in ("from", "to", "version"))
    words = [f"from {clock(start)} on" if start and not end else f"from {clock(start)}" if start else ""]
    words += [f"to {clock(end)}" if start else f"before {clock(end)}" if end else ""] if end else []
    words += [f"of version {version}"] if version else []
    return " ".join(word for word in words if word) or "of any time"


def _moments(rows: SideRows, found: Sequence[Change]) -> Iterator[Sentence]:
    for metric, moment, sentence in moments(rows):
        yield sentence
        close = at_that_time(rows, found, metric, moment.at)
        if close is not None:
            yield close


def _not_known(rows: SideRows) -> Iterator[Sentence]:
    """Yield what could not be compared, as it is not on record of either side."""
    known = {str(row["part"]) for row in rows.circumstances}
    for part, (what, how) in _RECORDED.items():
        if part not in known:
            basis = Basis("circumstances", {"part": part}, dict(rows.given), is_there=False)
            said = f"Whether {what} were changed is not known: none is on record. To know it: {how}."
            yield Sentence(part, [said], [basis])


def _next(rows: SideRows, found: Sequence[Change]) -> list[str]:
    examples = [run_id for row in worse(rows)[:1] for run_id in texts_of(row, "examples")]
    if not examples:
        return []
    commands = [f"retrospan why {quote(examples[0])}"]
    before = next(
        (run_id for change in found for row in change.lost for run_id in texts_of(row, "baseline_examples")),
        "",
    )
    if before:
        commands.append(f"retrospan diff {quote(before)} {quote(examples[0])}")
    return commands
