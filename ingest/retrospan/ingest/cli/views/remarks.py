"""What was said in a run besides its steps: events that agents state, evaluations, log records.

They stand between the steps, by time. A run may hold any number of them: so many are fetched, and so many are shown in
a row; what is left out is counted where it would stand, or said at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from retrospan.ingest.cli.client.collector_client import Parameter, Row
from retrospan.ingest.cli.client.rows import moment_of, texts_of, whole
from retrospan.ingest.cli.client.session import Asked, Session
from retrospan.ingest.cli.terminal.screen import Part
from retrospan.ingest.cli.terminal.table import show_wrapped
from retrospan.ingest.cli.terminal.text import fitted

#: The greatest number of remarks that are fetched, and of rows of each view for --json.
FETCHED = 1_000
#: As many of them stand between two steps.
IN_A_ROW = 20
#: The questions for --json, by the view whose rows they return.
VIEWS = ("decisions", "approvals", "checkpoints", "observations", "evaluations", "logs")
#: What is shown among the steps besides log records.
KINDS = ("decisions", "approvals", "checkpoints", "observations", "compactions", "evaluations")
_LEAD = 10


@dataclass(slots=True)
class Remarks:
    """The remarks of a run by time, handed out as its steps are reached."""

    waiting: list[Row] = field(default_factory=list)
    is_cut: bool = False  # there are more than were fetched

    def before(self, step: Row | None) -> list[Row]:
        """Return those said before a step began and not handed out yet; for None all that are left."""
        count = len(self.waiting)
        if step is not None:
            # Texts of times, all of one form: they order as the times do.
            count = next(
                (at for at, row in enumerate(self.waiting) if str(row["at"]) >= str(step["started_at"])),
                count,
            )
        found, self.waiting = self.waiting[:count], self.waiting[count:]
        return found


def questions(session: Session, found: Row, first: int, last: int, most: int) -> list[Asked]:
    """Return the questions for the remarks on some steps of a run; from step 0 on all of the run's.

    Only of kinds that it may have: a question takes ten times as long to find none as it takes to count.
    """
    there = _counts(session, found)
    of_logs = {**_parameters(found, first, last), "most": most}
    of_events = _without_traces(of_logs)
    asked: list[Asked] = [(f"remarks_of_{kind}", of_events) for kind in KINDS if there[kind]]
    return [*asked, ("show_log_remarks", of_logs)] if there["other_logs"] else asked


def ask_ahead(session: Session, found: Row) -> None:
    """Have asked which remarks a run has: what `fetch`, `questions` and `print_remarks` ask first."""
    session.ask_ahead(_count(found))


def fetch(session: Session, found: Row, first: int, last: int, most: int) -> Remarks:
    """Return the remarks on some steps of a run, at most `FETCHED`; `most` characters of each, 0 for all."""
    rows: list[Row] = []
    asked = questions(session, found, first, last, most)
    session.ask_ahead(*asked)
    for name, parameters in asked:
        rows += session.ask(name, **parameters)
    # As each question orders them; times are texts of one form.
    rows.sort(key=lambda row: (str(row["at"]), str(row["kind"]), str(row["name"]), str(row["text"])))
    return Remarks(rows[:FETCHED], len(rows) > FETCHED)


def print_remarks(session: Session, found: Row, first: int, last: int) -> None:
    """Write the rows of each view as JSON, at most `FETCHED` of each, and say of which there are more."""
    there = _counts(session, found)
    for view in VIEWS:
        if not there[view]:
            continue
        parameters = _parameters(found, first, last)
        rows = session.ask(f"show_{view}", **(parameters if view == "logs" else _without_traces(parameters)))
        session.print_json(rows[:FETCHED], view=view)
        if len(rows) > FETCHED:
            note_rest(session, str(found["run_id"]), view)


def _counts(session: Session, found: Row) -> dict[str, int]:
    """Return how much there may be of each kind, for a few milliseconds: most runs have none of most."""
    name, parameters = _count(found)
    counted = session.ask(name, **parameters)
    counts = {str(row["kind"]): whole(row, "there") or 0 for row in counted}
    return {**counts, "other_logs": sum(whole(row, "other") or 0 for row in counted)}


def _count(found: Row) -> Asked:
    return "count_remarks", {"run_id": str(found["run_id"]), "trace_ids": texts_of(found, "trace_ids")}


def _without_traces(parameters: dict[str, Parameter]) -> dict[str, Parameter]:
    return {name: value for name, value in parameters.items() if name != "trace_ids"}


def note_rest(session: Session, run_id: str, *views: str) -> None:
    """Say that there are more than were fetched, and how to see them all."""
    for view in views:
        session.screen.note(
            f"more than {FETCHED:,} are there, see all {view}: retrospan sql \"SELECT * FROM {view} WHERE run_id = '{run_id}'\""
        )


def heads(
    remarks: Sequence[Row], with_nodes: bool, *, all_of_them: bool
) -> Iterable[tuple[list[str], Row | None]]:
    """Yield the first columns of the timeline's line for each remark; of too many in a row the rest is one line."""
    shown = len(remarks) if all_of_them or len(remarks) <= IN_A_ROW else IN_A_ROW - 1
    blank = [""] * (3 if with_nodes else 2)
    for remark in remarks[:shown]:
        yield ["", str(remark["kind"]), str(remark["name"]), *blank], remark
    if shown < len(remarks):
        yield ["", "…", f"{len(remarks) - shown:,} more", *blank], None


def said(remark: Row | None, room: int | None, mark: str) -> str:
    """Return what a remark says, in at most `room` cells."""
    if remark is None:
        return ""
    text, length = str(remark["text"]), whole(remark, "length")
    return fitted(text, room, mark, length if (length or 0) > len(text) else None)


def show_lines(session: Session, remarks: Iterable[Row]) -> None:
    """Write each remark as a line of its own, as among steps in full."""
    for remark in remarks:
        lead: list[Part] = [
            (f"{remark['kind']!s:<{_LEAD}} ", "dim"),
            f"{session.zone.exact(moment_of(remark, 'at'))}  ",
            (f"{remark['name']}  ", "bold"),
        ]
        width = session.screen.width
        text = str(remark["text"])
        if width is not None and not session.arguments.full:
            text = said(remark, width * 2, session.screen.mark)
        show_wrapped(session.screen, lead, text)


def _parameters(found: Row, first: int, last: int) -> dict[str, Parameter]:
    return {
        "run_id": str(found["run_id"]),
        "trace_ids": texts_of(found, "trace_ids"),
        "first": first,
        "last": last,
        "rows": FETCHED + 1,
    }
