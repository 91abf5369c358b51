"""`retrospan diff`: where two runs diverge, and why; or where the runs of two sides do."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.incomplete import warn_if_incomplete
from retrospan.ingest.cli.client.references import find_run, is_whole, short
from retrospan.ingest.cli.client.rows import moment_of, text_of, whole
from retrospan.ingest.cli.client.session import Asked, Session
from retrospan.ingest.cli.terminal.arguments import (
    RUN_HELP,
    Help,
    Parser,
    UsageError,
    add_output_flags,
    number,
)
from retrospan.ingest.cli.terminal.screen import Part, Style
from retrospan.ingest.cli.terminal.spans import span
from retrospan.ingest.cli.terminal.text import counted
from retrospan.ingest.cli.views.pair_rows import MOST_PAIRS, PAIRS, PairGathering
from retrospan.ingest.cli.views.pairs import objects, show_pairs
from retrospan.ingest.cli.views.sides import show_sides
from retrospan.ingest.why.comparison import CAUSES
from retrospan.schemas.errors import NotFound

ASPECTS = ("tool", "arguments", "result", "answer", "state", "prompt", "model", "error")
HELP = Help(
    job="Show where two runs diverge, and why.",
    exits="0 answered; with --exit-code 1 unless they are identical, of sides 1 if they differ beyond chance and 2 if\n"
    "there are too few pairs; 2 wrong use or trouble",
    examples=(
        "retrospan diff last 7f3e91d0",
        "retrospan diff 7f3e91d0 b83f51aa --aspect state --json",
        "retrospan diff --baseline version=1.4.1 --candidate version=1.4.2",
    ),
    sql="SELECT step_a, step_b, cause FROM run_divergence(a = '…', b = '…')",
    more="Steps are aligned by content, then by name, then by place. Times, ids and token counts are not differences.\n"
    "Of two sides, runs that were asked the same are compared in pairs, and pairs of the baseline's own beside them.\n"
    "SPAN is FROM..TO, version=VERSION, or both separated by a comma, as in retrospan drift.",
)
#: What a step was given comes before what it did.
_ORDER = {
    aspect: i
    for i, aspect in enumerate(("prompt", "model", "tool", "arguments", "result", "answer", "state"))
}
_MARKS: dict[str, tuple[str, Style]] = {
    "same": (" ", ""), "changed": ("~", "yellow"), "moved": ("^", "yellow"),
    "only_a": ("-", "red"), "only_b": ("+", "green"),
}  # fmt: skip
#: The columns of each view among those of the question `comparison`.
_COLUMNS = {
    "run_divergence": (
        *("step_a", "step_b", "aspect", "cause", "value_a", "value_b", "identical", "prefix", "shown_cause"),
    ),
    "run_diff": (
        *("position", "step_a", "step_b", "change", "aspect", "value_a", "value_b", "step_kind", "name"),
        *("detail", "known"),
    ),
}


@dataclass(slots=True)
class Position:
    """One aligned position: the step of each run, and its rows of `run_diff`."""

    step_a: int | None
    step_b: int | None
    rows: list[Row] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.rows[0]['step_kind']} {self.rows[0]['name']}".strip()

    @property
    def change(self) -> str:
        changes = {str(row["change"]) for row in self.rows}
        for change in ("only_a", "only_b", "changed", "moved"):
            if change in changes:
                return change
        return "same"


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument("run_a", metavar="[RUN_A]", nargs="?", default="", help=RUN_HELP)
    parser.inputs.add_argument(
        "run_b", metavar="[RUN_B]", nargs="?", default="", help="the run to compare it with"
    )
    parser.flags.add_argument("--aspect", choices=ASPECTS, metavar="NAME", help="only " + ", ".join(ASPECTS))
    parser.flags.add_argument("--all", action="store_true", help="list equal steps one by one too")
    parser.flags.add_argument("--full", action="store_true", help="every value in full")
    parser.flags.add_argument("--exit-code", action="store_true", help="exit 1 unless the runs are identical")
    add = parser.flags.add_argument
    add("--baseline", type=span, metavar="SPAN", help="compare the runs of one side")
    add("--candidate", type=span, metavar="SPAN", help="with those of another")
    add("--agent", metavar="NAME", help="only runs of this agent; of two sides")
    add("--pairs", type=number(1, MOST_PAIRS), metavar="N", help=f"pairs of each kind to compare ({PAIRS})")
    add_output_flags(parser, pager=True)


def run(arguments: argparse.Namespace) -> int:
    if _has_sides(arguments):
        return _run_of_sides(Session.open(arguments))
    session = Session.open(arguments)
    shows_runs = not (arguments.json or arguments.sql)
    if is_whole(arguments.run_a) and is_whole(arguments.run_b) and not arguments.sql:
        session.ask_ahead(_comparison(arguments.run_a, arguments.run_b))
        if shows_runs:
            session.ask_ahead(
                *(("settled_run", {"run_id": run}) for run in (arguments.run_a, arguments.run_b))
            )
    a, b = (find_run(session, typed, shows_it=shows_runs) for typed in (arguments.run_a, arguments.run_b))
    if arguments.sql:
        return session.print_sql(("divergence", {"a": a, "b": b}), ("diff", {"a": a, "b": b}))
    divergence, differences = _compared(session, a, b)
    if divergence is None:
        raise NotFound(
            f"no answer about {short(a)} and {short(b)}: one of them was deleted or is being interpreted again. Try again."
        )
    rows = [_of_aspect(row, arguments.aspect) for row in differences]
    differing = [row for row in rows if row["change"] != "same"]
    differ = bool(differing) if arguments.aspect else not divergence["identical"]
    if arguments.json:
        session.print_json([divergence], view="run_divergence")
        session.print_json(rows if arguments.all else differing, view="run_diff")
        return 1 if arguments.exit_code and differ else 0
    run_a, run_b = session.run(a), session.run(b)
    warn_if_incomplete(session, run_a, run_b if a != b else None)
    steps_a, steps_b = ((whole(found, "steps") or 0) if found is not None else 0 for found in (run_a, run_b))
    with session.screen.paged():
        session.screen.line((sentence(divergence, steps_a, steps_b), "bold"))
        if not divergence["identical"]:
            lines = [
                _run_line(session, name, found)
                for name, found in (("A", run_a), ("B", run_b))
                if found is not None
            ]
            for line in lines:
                zone = f"  {session.zone_note()}" if line is lines[-1] else ""
                session.screen.line(*line, (zone, "dim"))
            _show(session, rows, {"A": a, "B": b})
    if not divergence["identical"]:
        session.screen.hint(
            f"next: retrospan show {short(a)}/{divergence['step_a'] or steps_a} · retrospan show {short(b)}/{divergence['step_b'] or steps_b}"
        )
    return 1 if arguments.exit_code and differ else 0


def _comparison(a: str, b: str) -> Asked:
    return "comparison", {"a": a, "b": b}


def _compared(session: Session, a: str, b: str) -> tuple[Row | None, list[Row]]:
    """Return the row of `run_divergence`, None if a run is gone, and those of `run_diff`: the runs are compared once."""
    name, runs = _comparison(a, b)
    asked = session.ask(name, **runs)
    of_divergence, of_diff = (
        [{column: row[column] for column in columns} for row in asked if row["view"] == view]
        for view, columns in _COLUMNS.items()
    )
    return (of_divergence[0] if of_divergence else None), of_diff


def _has_sides(arguments: argparse.Namespace) -> bool:
    """Return whether two sides are compared, and not two runs. Raises UsageError where it is neither or both."""
    spans = [flag for flag in ("baseline", "candidate") if getattr(arguments, flag) is not None]
    of_runs = [flag for flag in ("aspect", "all", "full") if getattr(arguments, flag)]
    of_sides = [flag for flag in ("agent", "pairs") if getattr(arguments, flag)]
    if not spans:
        missing = "RUN_A" if not arguments.run_a else "RUN_B" if not arguments.run_b else ""
        if missing:
            raise UsageError(f"{missing} is missing.", "diff")
        if of_sides:
            raise UsageError(f"--{of_sides[0]} is of two sides: leave it out with two runs.", "diff")
        return False
    if arguments.run_a:
        raise UsageError("say what to compare: two runs, or --baseline SPAN with --candidate SPAN.", "diff")
    if len(spans) == 1:
        missing = "candidate" if spans == ["baseline"] else "baseline"
        raise UsageError(f"--{spans[0]} is one side of two: --{missing} is missing.", "diff")
    if of_runs:
        raise UsageError(f"--{of_runs[0]} is of two runs: leave it out with --baseline.", "diff")
    return True


def _run_of_sides(session: Session) -> int:
    arguments = session.arguments
    gathering = PairGathering(
        session, arguments.baseline, arguments.candidate, arguments.agent or "", arguments.pairs or PAIRS
    )
    if arguments.sql:
        return session.print_sql(*gathering.of_every_two_sides())
    rows = gathering.rows()
    if arguments.json:
        for found in objects(rows):
            session.print_object(found)
    else:
        with session.screen.paged():
            show_pairs(session, rows)
    if not arguments.exit_code:
        return 0
    return int(rows.differs()) if rows.is_conclusive else 2


def sentence(divergence: Row, steps_a: int, steps_b: int) -> str:
    """Return the answer in one sentence: identical, a prefix, or where they diverge and why."""
    if divergence["identical"]:
        return f"identical: {counted(steps_a, 'step')}, with equal calls, results, states and answers, ids in texts aside"
    prefix = str(divergence["prefix"])
    if prefix in ("a", "b"):
        shorter, longer = ("A", "B") if prefix == "a" else ("B", "A")
        few, many = (steps_a, steps_b) if prefix == "a" else (steps_b, steps_a)
        return (
            f"{shorter} is a prefix of {longer}: all {counted(few, 'step')} of {shorter} are equal, "
            f"{longer} goes on to step {many}."
        )
    step_a, step_b = whole(divergence, "step_a"), whole(divergence, "step_b")
    cause = str(divergence["cause"])
    if step_a is None and step_b is None and not divergence["aspect"]:
        return "No difference found, but not everything was recorded for both, so they may not be identical."
    if step_a is None and step_b is None and divergence["aspect"] == "error":
        return (
            f"The runs differ in how they ended, A {divergence['value_a']} and B {divergence['value_b']}: "
            f"all {counted(steps_a, 'step')} are equal.  cause: {cause}"
        )
    return f"The runs diverge at {_where(step_a, step_b)}: {CAUSES.get(cause, cause)}.  cause: {cause}"


def _where(step_a: int | None, step_b: int | None) -> str:
    if step_a == step_b and step_a:
        return f"step {step_a}"
    if step_a and step_b:
        return f"step {step_a} of A, {step_b} of B"
    if step_a or step_b:
        return f"step {step_a} of A" if step_a else f"step {step_b} of B"
    return "the start"


def _run_line(session: Session, name: str, found: Row) -> list[Part]:
    agent = " ".join(word for word in (text_of(found, "agent_name"), text_of(found, "agent_version")) if word)
    started = session.zone.second(moment_of(found, "started_at"))
    return [
        f"  {name}  ", (str(found["run_id"]), "cyan"),
        f"  {agent or '-'}  {found['outcome']}  {started}  {counted(whole(found, 'steps') or 0, 'step')}",
    ]  # fmt: skip


def positions(rows: list[Row]) -> list[Position]:
    """Return the rows by position, in order."""
    found: dict[object, Position] = {}
    for row in rows:
        place = found.setdefault(row["position"], Position(whole(row, "step_a"), whole(row, "step_b")))
        place.step_a = place.step_a or whole(row, "step_a")
        place.step_b = place.step_b or whole(row, "step_b")
        place.rows.append(row)
    for place in found.values():
        place.rows.sort(key=lambda row: _ORDER.get(str(row["aspect"]), len(_ORDER)))
    return list(found.values())


def _of_aspect(row: Row, aspect: str | None) -> Row:
    """Return the row, or what it says of one aspect: nothing differs there when it is about another."""
    if aspect in (None, row["aspect"]) or row["change"] == "same":
        return row
    return {**row, "change": "same", "aspect": "", "value_a": None, "value_b": None}


def _show(session: Session, rows: list[Row], run_ids: dict[str, str]) -> None:
    places = positions(rows)
    equal: list[Position] = []
    for place in places:
        if place.change == "same" and not session.arguments.all:
            equal.append(place)
            continue
        _show_equal(session, equal)
        equal = []
        _show_position(session, place, run_ids)
    _show_equal(session, equal)
    same = sum(1 for place in places if place.change == "same")
    of = f" in {session.arguments.aspect}" if session.arguments.aspect else ""
    said = f"{same} of {counted(len(places), 'position')} equal{of}"
    doubtful = sum(1 for place in places if not all(row["known"] for row in place.rows))
    if doubtful:
        said += f"; at {counted(doubtful, 'position')} something is recorded for only one run"
    session.screen.line((said, "dim"))


def _show_equal(session: Session, places: list[Position]) -> None:
    if not places:
        return
    first, last = _number(places[0]), _number(places[-1])
    span = first if first == last else f"{first}-{last}"
    listed = ", ".join(place.name for place in places[:4]) + (", …" if len(places) > 4 else "")
    session.screen.line(f"  {span:<7} same ", (f"({listed})", "dim"))


def _number(place: Position) -> str:
    if place.step_a and place.step_b and place.step_a != place.step_b:
        return f"{place.step_a}|{place.step_b}"
    return str(place.step_a or place.step_b or "-")


def _show_position(session: Session, place: Position, run_ids: dict[str, str]) -> None:
    mark, style = _MARKS[place.change]
    side = {"only_a": "  only in A", "only_b": "  only in B", "same": "  same"}.get(place.change, "")
    moved = "  (moved)" if any(row["detail"] == "order" for row in place.rows) else ""
    session.screen.line((mark, style), f" {_number(place):<7} ", (place.name, "bold"), (side, style), moved)
    for row in place.rows:
        if row["change"] != "same":
            show_sides(session, row, run_ids)
