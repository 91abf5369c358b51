"""`retrospan find`: where something was said: in messages, arguments, results and errors."""

from __future__ import annotations

import argparse
import json
import re

from retrospan.ingest.cli.client.collector_client import Parameter, Row
from retrospan.ingest.cli.client.empty import OPEN, no_runs_yet, since_text
from retrospan.ingest.cli.client.references import find_run, short, short_length, step_address
from retrospan.ingest.cli.client.rows import moment_of, text_of, whole
from retrospan.ingest.cli.client.session import Session
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
from retrospan.ingest.cli.terminal.text import counted

KINDS = ("message", "arguments", "result", "error")
ROLES = ("system", "user", "assistant", "tool")
HELP = Help(
    job="Find where something was said: in messages, arguments and results of tools, and errors.",
    exits="0 answered; with --exit-code 1 if it was not said; 2 wrong use or trouble",
    examples=(
        "retrospan find 'no stock'",
        "retrospan find --words order refund --role tool --since '2h ago'",
        "retrospan find 4711 --kind arguments --tool send_mail --json",
    ),
    sql="SELECT run_id, step, kind, text FROM texts WHERE text ILIKE '%no stock%'",
    more="A message that later prompts repeat is found once, where it was first said. Case matters with --case only.\n"
    "Of JSON the texts, numbers and names are searched, each for itself; of a message not the names of its format.\n"
    "Decisions, observations and states are not searched, nor an input or output that no message holds: the views\n"
    "decisions, observations, steps and runs have them.",
)
#: Characters that are shown before the word: 20 less than the question returns.
_SHOWN_BEFORE = 40
#: So many of the newest texts that may say it are looked at first.
_LEAST_LOOKED_AT = 50
_MOST_WORDS = 100
#: How the answer begins when there is none, by --kind.
_NONE_SAYS = {
    "": "No message, argument, result or error says",
    "message": "No message says",
    "arguments": "No arguments say",
    "result": "No result says",
    "error": "No error says",
}
#: What LIKE does not read as itself, and what JSON writes otherwise: one or any characters stand for it.
_WILD, _ESCAPED = re.compile("[%_]"), re.compile(r'["\\\x00-\x1f]')


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument("text", metavar="TEXT", nargs="+", help="what was said, in just these words")
    parser.flags.add_argument(
        "--words", action="store_true", help="each word, in any order, anywhere in the text"
    )
    parser.flags.add_argument("--case", action="store_true", help="upper and lower case matter")
    parser.flags.add_argument("--run", metavar="RUN", help=f"only in this run: {RUN_HELP}")
    parser.flags.add_argument(
        "--kind", choices=KINDS, metavar="KIND", default="", help=f"only {', '.join(KINDS)}"
    )
    parser.flags.add_argument(
        "--role", choices=ROLES, metavar="ROLE", default="", help=f"only {', '.join(ROLES)}"
    )
    parser.flags.add_argument("--agent", default="", metavar="NAME", help="only of this agent")
    parser.flags.add_argument(
        "--tool", default="", metavar="NAME", help="only what this tool was given and gave"
    )
    add_since_flag(parser)
    parser.flags.add_argument("-n", type=number(1), default=20, metavar="N", help="at most N texts (20)")
    parser.flags.add_argument("--exit-code", action="store_true", help="exit 1 if nothing is found")
    add_output_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    words = " ".join(arguments.text).split() if arguments.words else [" ".join(arguments.text)]
    if not "".join(words).strip():
        raise UsageError("TEXT is empty.", "find")
    if len(words) > _MOST_WORDS:
        raise UsageError(f"TEXT has {len(words):,} words: --words takes at most {_MOST_WORDS}.", "find")
    session = Session.open(arguments)
    asked: dict[str, Parameter] = {
        "pattern": pattern_of(max(words, key=len)),
        "words": words,
        "escaped": [json.dumps(word, ensure_ascii=False)[1:-1] for word in words],
        "exact": int(arguments.case),
        "since": OPEN if arguments.since is None else arguments.since.clickhouse(),
        "run_id": find_run(session, arguments.run) if arguments.run else "",
        "agent": arguments.agent,
        "kind": arguments.kind,
        "role": arguments.role,
        "tool": arguments.tool,
        "whole": int(arguments.json or arguments.sql),
    }
    if arguments.sql:
        return session.print_sql(("find_texts", {**asked, "unsaid": 0, "most": arguments.n}))
    rows = _said(session, asked, arguments.n + 1)  # one more, to know whether there are more
    found = 1 if arguments.exit_code and not rows else 0
    more, rows = len(rows) > arguments.n, rows[: arguments.n]
    if arguments.json:
        session.print_json([_as_of_view(row) for row in rows])
        return found
    if not rows:
        session.screen.say(_why_none(session, arguments))
        return found
    _show(session, rows, words, case=arguments.case)
    runs = counted(len({row["run_id"] for row in rows}), "run")
    said = f"{counted(len(rows), 'text')} in {runs}" + (f", and more: -n {arguments.n * 4}" if more else "")
    session.screen.note((f"{said}{since_text(session, arguments.since)}; {session.zone_note()}", "dim"))
    return found


def pattern_of(text: str) -> str:
    """Return a LIKE pattern that fits whatever holds the text, as it is or as JSON writes it."""
    return f"%{_ESCAPED.sub('%', _WILD.sub('_', text))}%"


def _said(session: Session, asked: dict[str, Parameter], most: int) -> list[Row]:
    """Return the newest texts in which it was said.

    Whether it was said takes longer to decide than what the pattern fits: of few texts it is known before they are
    sorted. Only where most of the newest merely look like it, all are decided.
    """
    newest = max(most, _LEAST_LOOKED_AT)
    rows = session.ask("find_texts", **asked, unsaid=1, most=newest)
    said = [row for row in rows if row["is_said"]]
    if len(said) < most and len(rows) == newest:
        said = session.ask("find_texts", **asked, unsaid=0, most=most)
    return said[:most]


def _as_of_view(row: Row) -> Row:
    """Return a row by the columns of the view."""
    return {
        "text" if name == "shown" else name: value
        for name, value in row.items()
        if name not in ("characters", "is_said")
    }


def _show(session: Session, rows: list[Row], words: list[str], *, case: bool) -> None:
    length = short_length([str(row["run_id"]) for row in rows])
    columns = [
        Column("STEP", style="cyan"),
        Column("AT", priority=2),
        Column("AGENT", priority=3, limit=24),
        Column("WHAT", limit=32),
        Column("TEXT", text=True),
    ]
    cells = [
        [
            _address(row, length),
            session.zone.exact(moment_of(row, "at")),
            text_of(row, "agent_name") or "-",
            _what(row),
            _around(row, words, case=case),
        ]
        for row in rows
    ]
    show_table(session.screen, columns, cells)


def _address(row: Row, length: int) -> str:
    run_id = str(row["run_id"])
    return short(run_id, length) if row["step"] is None else step_address(run_id, row["step"])


def _what(row: Row) -> str:
    if row["kind"] == "message":
        return text_of(row, "role") or "message"
    tool = text_of(row, "tool_name")
    return f"{row['kind']} of {tool}" if tool else str(row["kind"])


def _around(row: Row, words: list[str], *, case: bool) -> str:
    """Return the text around the first word that is in it, with a mark where more stands before it."""
    text = str(row["shown"])
    folded = text if case else text.lower()
    places = [place for word in words if (place := folded.find(word if case else word.lower())) >= 0]
    # The text that was returned begins further before the word than what is shown, unless it is the beginning itself.
    begin = max(0, min(places, default=0) - _SHOWN_BEFORE)
    return f"{'…' if begin else ''}{text[begin:]}"


def _why_none(session: Session, arguments: argparse.Namespace) -> str:
    since = OPEN if arguments.since is None else arguments.since.clickhouse()
    counts = session.one("count_runs", since=since, outcome="", agent="") or {"matching": 0, "total": 0}
    if not whole(counts, "total"):
        return no_runs_yet(session)
    flags = ("run", "kind", "role", "agent", "tool", "case")
    narrowed = [f"--{flag}" for flag in flags if getattr(arguments, flag)]
    without = f" Try without {', '.join(narrowed)}." if narrowed else ""
    words = (
        "" if arguments.words or len(" ".join(arguments.text).split()) < 2 else " --words finds them apart."
    )
    what = "these words" if arguments.words else repr(" ".join(arguments.text))
    others = [flag for flag in narrowed if flag not in ("--kind", "--case")]
    none_says = f"Nothing that fits {', '.join(others)} says" if others else _NONE_SAYS[arguments.kind]
    return (
        f"{none_says} {what} in {counted(whole(counts, 'matching') or 0, 'run')}"
        f"{since_text(session, arguments.since)}.{without}{words}"
    )
