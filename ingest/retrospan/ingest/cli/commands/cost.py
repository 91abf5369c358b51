"""`retrospan cost`: what models cost, by agent, version, day, model, run or tool; and where the cost of a run lies."""

from __future__ import annotations

import argparse

from retrospan.ingest.cli.client.collector_client import Parameter, Row
from retrospan.ingest.cli.client.empty import OPEN, no_runs_yet, since_text
from retrospan.ingest.cli.client.references import find_run, is_whole, short
from retrospan.ingest.cli.client.rows import number_of, text_of, texts_of, whole
from retrospan.ingest.cli.client.session import Asked, Session
from retrospan.ingest.cli.terminal.arguments import (
    RUN_HELP,
    Help,
    Parser,
    UsageError,
    add_output_flags,
    add_since_flag,
    number,
)
from retrospan.ingest.cli.terminal.table import Column, show_table
from retrospan.ingest.cli.terminal.text import count, counted
from retrospan.ingest.cli.views.money import money

HELP = Help(
    job="Show what models cost: of all runs, by agent and so on; or of one run, as on an invoice.",
    exits="0 answered; with --exit-code 1 if some of it has no price; 2 wrong use or trouble",
    examples=("retrospan cost --by day --since 2026-11-01T00:00:00Z", "retrospan cost last"),
    sql="SELECT agent_name, currency, sum(amount) AS cost FROM cost GROUP BY ALL",
    more="By the prices that were in force (prices.table). A call without a price is never taken as free.",
)
WAYS = ("agent", "version", "day", "model", "run", "tool")
_NAMED = {"run": "RUN", "tool": "INSIDE TOOL"}
#: Of how many runs the prompts are gone through for `--by tool`.
_RUNS = 1_000


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument("run", metavar="[RUN]", nargs="?", default="", help=RUN_HELP)
    parser.flags.add_argument(
        "--by",
        choices=WAYS,
        default="",
        metavar="WHAT",
        help=f"of all runs, by: {', '.join(WAYS)} (agent)",
    )
    parser.flags.add_argument("-n", type=number(1), default=20, metavar="N", help="at most N rows (20)")
    add_since_flag(parser)
    parser.flags.add_argument("--agent", default="", metavar="NAME", help="only of this agent")
    parser.flags.add_argument(
        "--exit-code", action="store_true", help="exit 1 if a model call has no price, or there is none"
    )
    add_output_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    session = Session.open(arguments)
    if arguments.run:
        if arguments.by or arguments.since is not None or arguments.agent:
            raise UsageError("--by, --since and --agent are for the cost of all runs: leave out RUN.", "cost")
        return _cost_of_run(session, arguments)
    by = arguments.by or "agent"
    asked: dict[str, Parameter] = {
        "since": OPEN if arguments.since is None else arguments.since.clickhouse(),
        "agent": arguments.agent,
        "most": arguments.n,
    }
    results = ("cost_of_results", {**asked, "of_runs": _RUNS})
    if arguments.sql:
        return session.print_sql(("cost_by", {**asked, "by": by}), *([results] if by == "tool" else []))
    rows = session.ask("cost_by", **asked, by=by)
    if by == "tool":
        rows = [row for row in rows if row["what"] is not None]
    of_results = session.ask(results[0], **results[1]) if by == "tool" else []
    if arguments.json:
        session.print_json(rows, **({"view": "cost"} if by == "tool" else {}))
        session.print_json(of_results, view="prompt_shares")
    elif not rows and not of_results:
        session.screen.say(_why_none(session, arguments, by))
    else:
        _show_groups(session, arguments, rows, by)
        _show_results(session, of_results)
    return _exit(arguments, rows, any(whole(row, "unpriced") for row in rows))


def _exit(arguments: argparse.Namespace, rows: list[Row], is_unknown: bool) -> int:
    return 1 if arguments.exit_code and (not rows or is_unknown) else 0


def _why_none(session: Session, arguments: argparse.Namespace, by: str) -> str:
    if session.one("last_run") is None:
        return no_runs_yet(session)
    of = f" of agent {arguments.agent}" if arguments.agent else ""
    inside = " inside a tool, and no result of a tool in a prompt" if by == "tool" else ""
    return f"No model call{of}{inside}{since_text(session, arguments.since)}."


def _show_groups(session: Session, arguments: argparse.Namespace, rows: list[Row], by: str) -> None:
    if rows:
        show_table(
            session.screen,
            [
                Column(_NAMED.get(by, by.upper()), style="cyan", limit=48),
                Column("COST", right=True),
                Column("IN LOOPS", right=True, priority=2, style="yellow"),
                Column("IN RETRIES", right=True, priority=3, style="yellow"),
                Column("RUNS", right=True, priority=4),
                Column("CALLS", right=True, priority=5),
                Column("TOKENS", right=True, priority=6),
                Column("WITHOUT A PRICE", text=True, priority=1),
            ],
            [
                [
                    short(str(row["what"])) if by == "run" else text_of(row, "what") or "-",
                    money(row["cost"], text_of(row, "currency")),
                    _lost(row, "loops"),
                    _lost(row, "retries"),
                    count(whole(row, "runs")),
                    count(whole(row, "model_calls")),
                    count(whole(row, "tokens")),
                    why_unpriced(row),
                ]
                for row in rows
            ],
        )
    said = f"cost by {by}{since_text(session, arguments.since)}, each model call once"
    first = "newest" if by == "day" else "dearest"
    more = f"; the {first} {arguments.n}: -n {arguments.n * 4}" if len(rows) >= arguments.n else ""
    session.screen.note((f"{said}{more}{'; days are UTC' if by == 'day' else ''}", "dim"))


def _lost(row: Row, name: str) -> str:
    return money(row[name], None) if number_of(row, name) else ""


def why_unpriced(row: Row) -> str:
    """Return how many calls of a group have no price, and why: one reason, and how many others there are."""
    calls = whole(row, "unpriced") or 0
    more = (whole(row, "reasons") or 1) - 1
    others = f"; and for {counted(more, 'other reason')}" if more else ""
    return f"{counted(calls, 'call')}: {row['unknown']}{others}" if calls else ""


def _show_results(session: Session, rows: list[Row]) -> None:
    if not rows:
        return
    session.screen.line()
    show_table(
        session.screen,
        [
            Column("RESULTS OF", style="cyan", limit=48),
            Column("COST ≈", right=True),
            Column("TOKENS ≈", right=True),
            Column("PROMPTS", right=True, priority=2),
            Column("RUNS", right=True, priority=3),
        ],
        [
            [
                str(row["what"]),
                money(_rounded(row, "cost"), text_of(row, "currency")),
                count(round(number_of(row, "tokens") or 0)),
                count(whole(row, "prompts")),
                count(whole(row, "runs")),
            ]
            for row in rows
        ],
    )
    session.screen.note(
        (
            f"what results of tools take of the prompts of the newest {_RUNS:,} runs, estimated by length",
            "dim",
        )
    )


def _rounded(row: Row, name: str) -> float | None:
    """Return an estimate with three digits that count: it has no more."""
    value = number_of(row, name)
    return None if value is None else float(f"{value:.3g}")


def _of_run(run_id: str, most: int) -> list[Asked]:
    asked: dict[str, Parameter] = {"run_id": run_id}
    return [("cost_stated", asked), ("cost_of_run", asked), ("prompts_of_run", {**asked, "most": most})]


def _cost_of_run(session: Session, arguments: argparse.Namespace) -> int:
    typed = str(arguments.run)
    if arguments.sql:
        return session.print_sql(*_of_run(find_run(session, typed), arguments.n))
    stated: list[Row] = []
    run_id = typed
    if is_whole(typed):
        # A run whose cost is told is there, whatever it cost: nothing else is asked for to know that.
        session.ask_ahead(*_of_run(typed, arguments.n))
        stated = session.ask("cost_stated", run_id=typed)
    if not stated:
        run_id = find_run(session, typed)
        session.ask_ahead(*_of_run(run_id, arguments.n))
        stated = session.ask("cost_stated", run_id=run_id)
    lines, filling = (session.ask(name, **asked) for name, asked in _of_run(run_id, arguments.n)[1:])
    about: Row = stated[0] if stated else {"run_id": run_id, "cost": None, "cost_unknown": None}
    if arguments.json:
        session.print_json([about], view="runs")
        session.print_json(lines, view="cost")
        session.print_json(filling, view="prompt_shares")
    else:
        _show_invoice(session, about, lines)
        _show_prompts(session, filling)
    return _exit(arguments, lines, about["cost"] is None)


def _show_invoice(session: Session, about: Row, lines: list[Row]) -> None:
    cost, currency = about["cost"], text_of(about, "currency")
    known = money(cost, currency) if cost is not None else f"not known: {about['cost_unknown']}"
    session.screen.line((short(str(about["run_id"])), "cyan"), f"  {known}")
    if not lines:
        return
    show_table(
        session.screen,
        [
            Column("MODEL", limit=40),
            Column("TOKENS OF"),
            Column("TOKENS", right=True),
            Column("OF A MILLION", right=True, priority=2),
            Column("AMOUNT", right=True),
            Column("WITHOUT A PRICE", text=True, priority=1),
        ],
        [
            [
                text_of(row, "model") or "-",
                text_of(row, "bucket") or "-",
                count(whole(row, "tokens")),
                money(row["price"], None),
                money(row["amount"], text_of(row, "currency")),
                text_of(row, "unknown") or "",
            ]
            for row in lines
        ],
    )
    _note_waste(session, lines)
    if stated := [_stated(text) for text in texts_of(about, "stated")]:
        calls = f"{about['stated_calls']} of {counted(whole(about, 'model_calls') or 0, 'model call')}"
        session.screen.note((f"its instrumentation states {' and '.join(stated)} ({calls})", "dim"))


def _stated(text: str) -> str:
    amount, _, currency = text.partition(" ")
    return money(float(amount), currency or "(in which currency is not said)")


def _note_waste(session: Session, lines: list[Row]) -> None:
    for name, said in (
        ("loops", "repeated calls (retrospan loops)"),
        ("retries", "failed requests and retries"),
    ):
        by_currency: dict[str, float] = {}
        for row in lines:
            if lost := number_of(row, name):
                by_currency[str(row["currency"])] = by_currency.get(str(row["currency"]), 0.0) + lost
        for currency, lost in by_currency.items():
            session.screen.line((f"{money(round(lost, 12), currency)} of it for {said}", "yellow"))


def _show_prompts(session: Session, rows: list[Row]) -> None:
    if not rows:
        return
    session.screen.line()
    show_table(
        session.screen,
        [
            Column("OF THE PROMPTS ≈", right=True),
            Column("TOKENS ≈", right=True, priority=3),
            Column("COST ≈", right=True, priority=2),
            Column("PROMPTS", right=True, priority=4),
            Column("WHAT", style="cyan", limit=40),
            Column("TEXT", text=True, priority=1),
        ],
        [
            [
                f"{share:.0%}" if (share := number_of(row, "share")) is not None else "-",
                count(round(number_of(row, "tokens_estimated") or 0)),
                money(_rounded(row, "cost_estimated"), text_of(row, "currency")),
                count(whole(row, "prompts")),
                _what(row),
                " ".join((text_of(row, "begins") or "").split()),
            ]
            for row in rows
        ],
    )
    session.screen.note(("what fills the prompts, estimated by the length of each message", "dim"))


def _what(row: Row) -> str:
    if row["part"] != "message":
        return "system prompt" if row["part"] == "system" else "definitions of tools"
    tool = text_of(row, "tool_name")
    return f"result of {tool}" if tool else f"message of {text_of(row, 'role') or 'unknown role'}"
