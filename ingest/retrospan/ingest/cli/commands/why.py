"""`retrospan why`: what went wrong in a run, or what got worse from one side of runs to another, and the cause."""

from __future__ import annotations

import argparse
import re

from retrospan.ingest.cli.client.empty import OPEN, no_runs_match
from retrospan.ingest.cli.client.incomplete import warn_if_incomplete
from retrospan.ingest.cli.client.references import find_run
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import (
    RUN_HELP,
    Help,
    Parser,
    UsageError,
    add_output_flags,
    moment,
    number,
)
from retrospan.ingest.cli.terminal.moments import Moment
from retrospan.ingest.cli.terminal.screen import Screen, Style
from retrospan.ingest.cli.terminal.spans import span
from retrospan.ingest.cli.terminal.text import safe, wrap
from retrospan.ingest.cli.views.why_rows import Gathering
from retrospan.ingest.cli.views.why_sides_rows import SidesGathering
from retrospan.ingest.why.fitting import CHARACTERS, fitted
from retrospan.ingest.why.html_page import html_page
from retrospan.ingest.why.markdown import markdown
from retrospan.ingest.why.plain_page import lines
from retrospan.ingest.why.report import report_of
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Report
from retrospan.ingest.why.sides.report import report_of as report_of_sides
from retrospan.schemas.errors import NotFound, PermanentError

HELP = Help(
    job="Say what went wrong first in a run, its cause, where the wrong value came from, and what is to be undone.",
    exits="0 answered; with --exit-code 1 if something went wrong, 2 if there are too few runs; 2 wrong use or trouble",
    examples=(
        "retrospan why last",
        "retrospan why 4bf92f35 --against 7f3e91d0 --html why.html",
        "retrospan why --since 2d --agent triage",
        "retrospan why --baseline version=1.4.1 --candidate version=1.4.2",
    ),
    sql="SELECT step, origin, class, error_type, error_message FROM failures WHERE run_id = '…' ORDER BY at",
    more="Each sentence names in brackets the views and places that it rests on; --json gives the rows' columns. Text in\n"
    "quotation marks was written by agents, tools or users. docs/why.md says what each sentence rests on, and how the\n"
    "run to compare with is chosen. Without RUN: what got worse, by drift, and what was changed between the sides.\n"
    "SPAN is FROM..TO, version=VERSION, or both separated by a comma, as in retrospan drift.",
)
#: Characters of an HTML file: it is read on a page, not in an answer.
HTML_CHARACTERS = 100_000
_WHOLE_ID = re.compile(r"[0-9a-f]{32}$")
_STYLES: dict[str, Style] = {"title": "bold", "left_out": "dim", "next": "dim"}


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument("run", metavar="[RUN]", nargs="?", default="", help=RUN_HELP)
    add = parser.flags.add_argument
    add("--against", metavar="RUN", help="compare with this run, instead of the last good one like it")
    add("--since", type=moment, metavar="TIME", help="what got worse since TIME, against the time before it")
    add("--baseline", type=span, metavar="SPAN", help="what got worse against these runs")
    add("--candidate", type=span, metavar="SPAN", help="in these")
    add("--agent", metavar="NAME", help="only runs of this agent; of two sides")
    add("--markdown", action="store_true", help="as Markdown")
    add(
        "--html",
        metavar="FILE",
        help="as one HTML file, without script and without network; - is standard output",
    )
    add("--full", action="store_true", help="every sentence, and every quotation in full")
    add(
        "--most",
        type=number(1_000),
        default=CHARACTERS,
        metavar="N",
        help=f"at most N characters ({CHARACTERS:,})",
    )
    add("--exit-code", action="store_true", help="exit 1 if something went wrong, or got worse")
    add_output_flags(parser, pager=True)


def run(arguments: argparse.Namespace) -> int:
    if sum(map(bool, (arguments.json, arguments.markdown, arguments.html))) > 1:
        raise UsageError("--json, --markdown and --html are three forms: choose one.", "why")
    has_sides = _has_sides(arguments)
    session = Session.open(arguments)
    if has_sides:
        return _run_of_sides(session)
    against = find_run(session, arguments.against) if arguments.against else None
    if arguments.sql:
        return session.print_sql(
            *_gathering(session, find_run(session, arguments.run), against).of_every_run()
        )
    rows = _rows(session, arguments.run, against)
    report = report_of(rows)
    if not arguments.json:
        warn_if_incomplete(session, rows.run if isinstance(rows.run, dict) else None)
    _print(session, report)
    return 1 if arguments.exit_code and _has_problem(report) else 0


def _has_sides(arguments: argparse.Namespace) -> bool:
    """Return whether two sides are compared, and not a run explained. Raises UsageError where it is neither or both."""
    spans = [flag for flag in ("baseline", "candidate") if getattr(arguments, flag) is not None]
    ways = [bool(arguments.run), arguments.since is not None, bool(spans)]
    if sum(ways) != 1:
        raise UsageError(
            "say what to explain: a RUN, --since TIME, or --baseline SPAN with --candidate SPAN"
            + (", and only one of them." if any(ways) else "."),
            "why",
        )
    if len(spans) == 1:
        missing = "candidate" if spans == ["baseline"] else "baseline"
        raise UsageError(f"--{spans[0]} is one side of two: --{missing} is missing.", "why")
    if arguments.run and arguments.agent:
        raise UsageError("--agent chooses runs of two sides: leave it out with RUN.", "why")
    if not arguments.run and arguments.against:
        raise UsageError("--against compares a RUN: name the runs to compare with by --baseline.", "why")
    if arguments.since is not None and arguments.since >= Moment.now():
        raise UsageError("--since is a time to come: nothing can have got worse since then.", "why")
    return not arguments.run


def _run_of_sides(session: Session) -> int:
    arguments = session.arguments
    agent = arguments.agent or ""
    if arguments.since is not None:
        gathering = SidesGathering.of_moment(session, arguments.since, agent)
    else:
        gathering = SidesGathering(session, arguments.baseline, arguments.candidate, agent)
    if arguments.sql:
        return session.print_sql(*gathering.of_every_two_sides())
    rows = gathering.rows()
    if not rows.drift:
        session.screen.say(_no_runs(session, agent))
        return 2
    report = report_of_sides(rows)
    _print(session, report)
    if not arguments.exit_code:
        return 0
    return int(_has_problem(report)) if rows.is_conclusive else 2


def _no_runs(session: Session, agent: str) -> str:
    """Return what to say where neither side has a run."""
    counts = session.one("count_runs", since=OPEN, outcome="", agent=agent)
    if counts is not None and not counts["matching"]:
        return no_runs_match(session, counts, None, "", agent)
    return "INCONCLUSIVE: neither side has a run that came to an end. retrospan runs lists runs with their times."


def _print(session: Session, report: Report) -> None:
    """Print the report in the form that was asked for."""
    arguments = session.arguments
    most = None if arguments.full else arguments.most
    if arguments.json:
        _print_json(session, report)
    elif arguments.html:
        _write(
            session.screen,
            arguments.html,
            fitted(report, html_page, None if most is None else HTML_CHARACTERS),
        )
    elif arguments.markdown:
        session.screen.data(fitted(report, markdown, most))
    else:
        _show(session, report, most)


def _gathering(session: Session, run_id: str, against: str | None) -> Gathering:
    return Gathering(session, run_id, against, session.arguments.full or session.arguments.json)


def _rows(session: Session, typed: str, against: str | None) -> RunRows:
    """Ask about the run that was meant. A whole id is asked about at once: nothing needs to be found."""
    if _WHOLE_ID.match(typed):
        try:
            return _gathering(session, typed, against).rows()
        except NotFound:
            return _gathering(session, find_run(session, typed), against).rows()
    return _gathering(session, find_run(session, typed), against).rows()


def _has_problem(report: Report) -> bool:
    return not any(each.kind == "nothing" for chapter in report.chapters for each in chapter.sentences)


def _print_json(session: Session, report: Report) -> None:
    for chapter in report.chapters:
        for sentence in chapter.sentences:
            session.print_object(
                {
                    "chapter": chapter.name,
                    "kind": sentence.kind,
                    "text": sentence.text(),
                    "run_id": sentence.run_id or report.run_id or None,
                    "step": sentence.step,
                    "rests_on": [basis.plain() for basis in sentence.rests_on],
                }
            )


def _show(session: Session, report: Report, most: int | None) -> None:
    shown = list[tuple[str, str]]()

    def write(shorter: Report, quotation: int | None) -> str:
        shown[:] = [(kind, safe(line)) for kind, line in lines(shorter, quotation)]
        return "".join(f"{line}\n" for _, line in shown)

    text = fitted(report, write, most)
    if len(text) < sum(len(line) + 1 for _, line in shown):
        shown[:] = [("sentence", line) for line in text.splitlines()]
    with session.screen.paged():
        for kind, line in shown:
            indent = "    " if kind == "sentence" else ""
            room = None if session.screen.width is None else session.screen.width - len(indent)
            for place, piece in enumerate(wrap(line, room)):
                session.screen.line(indent if place else "", (piece, _STYLES.get(kind, "")))


def _write(screen: Screen, path: str, text: str) -> None:
    if path == "-":
        screen.data(text)
        return
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise PermanentError(f"--html {path}: {error.strerror or error}. Choose another file.") from error
    screen.note((f"written: {path}", "dim"))
