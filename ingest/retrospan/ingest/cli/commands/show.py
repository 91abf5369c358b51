"""`retrospan show`: what a run did, step by step, or one step in full."""

from __future__ import annotations

import argparse

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.incomplete import warn_if_incomplete
from retrospan.ingest.cli.client.pages import LAST, Page, Pages, page_of, pages_of
from retrospan.ingest.cli.client.references import find_step, short
from retrospan.ingest.cli.client.rows import moment_of, number_of, text_of, whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import RUN_HELP, Help, Parser, add_output_flags
from retrospan.ingest.cli.terminal.screen import Part, Style
from retrospan.ingest.cli.terminal.table import show_wrapped
from retrospan.ingest.cli.terminal.text import counted, cut, duration, fitted, safe
from retrospan.ingest.cli.views import remarks as said
from retrospan.ingest.cli.views.detail import show_step
from retrospan.ingest.cli.views.last_words import is_stopped, show_last_words
from retrospan.ingest.cli.views.timeline import NOT_RECORDED, show_timeline
from retrospan.ingest.cli.views.tokens import tokens
from retrospan.schemas.errors import NotFound

HELP = Help(
    job="Show what a run did, step by step; or one step with its full input and output.",
    examples=("retrospan show last", "retrospan show last/3 --full", "retrospan show last --json"),
    sql="SELECT step, name, status FROM steps WHERE run_id = '…' ORDER BY step",
    more='--json: "view" in each object names the view that it is a row of (runs, steps, model_calls, tool_calls, messages,\n'
    "decisions, approvals, checkpoints, observations, evaluations, logs; of each of the last six at most 1,000 rows).",
)
#: Characters fetched of a long text of a model call and a tool call for a screen; what is cut is marked with its full
#: length.
MOST = (20_000, 4_000)
TEXT_LINES = 4
_OUTCOMES: dict[str, Style] = {
    "ok": "green",
    "error": "red",
    "incomplete": "yellow",
    "running": "blue",
    "killed": "red",
    "lost": "yellow",
}


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument("run", metavar="RUN[/N]", help=f"{RUN_HELP}; /N is its step N")
    parser.flags.add_argument(
        "--full", action="store_true", help="every value in full, over as many lines as it needs"
    )
    add_output_flags(parser, pager=True)


def run(arguments: argparse.Namespace) -> int:
    session = Session.open(arguments)
    run_id, step = find_step(session, arguments.run, shows_it=True)
    most = (0, 0) if arguments.full or arguments.json or session.screen.width is None else MOST
    found = session.run(run_id)
    if found is None:
        raise NotFound(f"run {run_id} is not there: it was deleted or is being interpreted again. Try again.")
    if arguments.sql:
        everything = Page(0, LAST) if step is None else page_of(step)
        asked = Pages(session, run_id, [everything], *most).questions(everything)
        remarked = said.questions(session, found, everything.first, everything.last, most[1])
        return session.print_sql(("show_run", {"run_id": run_id}), *asked, *remarked)
    number = whole(found, "steps") or 0
    pages = Pages(session, run_id, pages_of(number) if step is None else [page_of(step)], *most)
    said.ask_ahead(session, found)
    pages.ask_ahead()
    if step is not None:
        return _run_step(session, found, step, pages)
    if arguments.json:
        session.print_json([found], view="runs")
        _print_json(session, pages)
        said.print_remarks(session, found, 0, LAST)
        return 0
    warn_if_incomplete(session, found)
    remarks = said.fetch(session, found, 0, LAST, most[1])
    with session.screen.paged():
        _show_head(session, found)
        for place, (steps, models, tools) in enumerate(pages):
            is_last = place + 1 == len(pages.pages)
            if arguments.full:
                _show_full(session, found, (steps, models, tools), remarks)
            elif steps or tools or (is_last and remarks.waiting):
                show_timeline(session, steps, models, tools, remarks, heading=not place, is_last=is_last)
        if arguments.full:
            said.show_lines(session, remarks.before(None))
            session.screen.line()
        _show_text(session, "output", text_of(found, "output"))
        if is_stopped(found):
            show_last_words(session, found)
    if remarks.is_cut:
        said.note_rest(session, run_id, "logs")
    if number:
        _hint_next(session, run_id, number)
    return 0


def _run_step(session: Session, found: Row, step: int, pages: Pages) -> int:
    ((steps, models, tools),) = pages
    if not steps:
        raise NotFound(
            f"run {short(pages.run_id)} has no step {step}: it has {counted(whole(found, 'steps') or 0, 'step')}."
        )
    if session.arguments.json:
        _print_json(session, pages)
        for model in models:
            ordinal = whole(model, "ordinal") or 0
            rows = session.ask("show_messages", run_id=pages.run_id, model_call=ordinal)
            session.print_json(rows, view="messages")
        said.print_remarks(session, found, step, step)
        return 0
    warn_if_incomplete(session, found)
    remarks = said.fetch(session, found, step, step, pages.most_of_tools)
    with session.screen.paged():
        show_step(session, found, steps[0], models[0] if models else None, tools[0] if tools else None)
        said.show_lines(session, remarks.before(None))
    return 0


def _print_json(session: Session, pages: Pages) -> None:
    for view, rows_of in (
        ("steps", pages.steps),
        ("model_calls", pages.model_calls),
        ("tool_calls", pages.tool_calls),
    ):
        for page in pages.pages:
            rows = rows_of(page)
            for row in rows:
                for length in ("output_length", "arguments_length", "result_length"):
                    row.pop(length, None)
            session.print_json(rows, view=view)


def _show_head(session: Session, found: Row) -> None:
    outcome, screen = str(found["outcome"]), session.screen
    names = [word for word in (text_of(found, "agent_name"), text_of(found, "agent_version")) if word]
    agent = cut(safe(" ".join(names) or "-"), None if screen.width is None else 40, screen.mark)
    screen.line(
        "run ", (str(found["run_id"]), "cyan"), "  ", (agent, "bold"), "  ", (outcome, _OUTCOMES.get(outcome, ""))
    )  # fmt: skip
    started, ended = moment_of(found, "started_at"), moment_of(found, "ended_at")
    facts = [
        f"{session.zone.second(started)} → {session.zone.clock(ended)} ({duration(number_of(found, 'duration_ms'))})",
        counted(whole(found, "steps") or 0, "step"),
        f"{tokens(found)} tokens",
        *([f"conversation {found['conversation_id']}"] if found["conversation_id"] else []),
        session.zone_note(),
    ]
    show_wrapped(screen, ["  "], "  ".join(facts), "dim")
    if found["parent_run_id"]:
        link = text_of(found, "parent_link") or "continues"
        session.screen.line(("  parent  ", "dim"), f"{link} run ", (str(found["parent_run_id"]), "cyan"))
    _show_problems(session, found)
    _show_text(session, "input", text_of(found, "input"))


def _show_problems(session: Session, found: Row) -> None:
    """Say in one line that the reading of the run is in doubt, why, and how to see all that speaks against it."""
    run_id, problems = str(found["run_id"]), whole(found, "problems") or 0
    first = session.one("first_problem", run_id=run_id) if problems else None
    if first is not None:
        # A run that could not be read at all has a traceback for a reason: its last line says why.
        reason = (text_of(first, "reason") or "").strip().rpartition("\n")[2]
        lead: list[Part] = [("  doubts  ", "yellow")]
        listed = f"retrospan sql \"SELECT * FROM interpretation_problems WHERE run_id = '{run_id}'\""
        show_wrapped(
            session.screen, lead, f"{counted(problems, 'problem')}: {reason} ({first['field']}) · {listed}"
        )


def _show_text(session: Session, name: str, text: str | None) -> None:
    lead: list[Part] = [(f"  {name:<7} ", "dim")]
    if text is None:
        show_wrapped(session.screen, lead, NOT_RECORDED if name == "input" else "-")
        return
    width = session.screen.width
    if width is not None and not session.arguments.full:
        text = fitted(text, (width - 10) * TEXT_LINES, session.screen.mark)
    show_wrapped(session.screen, lead, text or '""')


def _show_full(
    session: Session, found: Row, page: tuple[list[Row], list[Row], list[Row]], remarks: said.Remarks
) -> None:
    steps, models, tools = page
    by_model = {whole(call, "step"): call for call in models}
    by_tool = {whole(call, "step"): call for call in tools if call["step"] is not None}
    for step in steps:
        number = whole(step, "step")
        said.show_lines(session, remarks.before(step))
        session.screen.line()
        show_step(session, found, step, by_model.get(number), by_tool.get(number), with_input=False)


def _hint_next(session: Session, run_id: str, last: int) -> None:
    name = short(run_id)
    session.screen.hint(
        f"next: retrospan show {name}/{last} · retrospan state {name} · retrospan trace {name}/{last}"
    )
