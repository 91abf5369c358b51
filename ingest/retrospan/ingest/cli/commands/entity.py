"""`retrospan entity`: what changed on a thing that agents write to, or what it was at a time."""

from __future__ import annotations

import argparse

from retrospan.ingest.cli.client.collector_client import Parameter, Row
from retrospan.ingest.cli.client.empty import OPEN, no_runs_yet, since_text
from retrospan.ingest.cli.client.entities import find_entity, stored_entity, unknown_entity
from retrospan.ingest.cli.client.references import short
from retrospan.ingest.cli.client.rows import moment_of, text_of, whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import Help, Parser, UsageError, add_output_flags, moment, number
from retrospan.ingest.cli.terminal.moments import TIME_HELP
from retrospan.ingest.cli.terminal.table import Column, show_table, show_wrapped
from retrospan.ingest.cli.terminal.text import count, counted
from retrospan.ingest.cli.terminal.values import brief_json

HELP = Help(
    job="Show what changed on an entity and who changed it, or its state at a time; or which there are.",
    exits="0 answered; with --exit-code 1 if nothing changed or nothing was known; 2 wrong use or trouble",
    examples=(
        "retrospan entity",
        "retrospan entity config/acme-config --since 14:00",
        "retrospan entity config/acme-config --at 14:35",
        "retrospan entity config/acme-config --at 14:35 --known-at 14:40 --json",
    ),
    sql="SELECT at, field, old_value, new_value FROM entity_timeline WHERE entity_id = 'acme-config'",
    more="--at: what held then; --known-at: what had arrived here by then.",
)


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument(
        "entity", metavar="[TYPE/ID]", nargs="?", default="", help="such as config/acme-config"
    )
    parser.flags.add_argument("--at", type=moment, metavar="TIME", help=f"its state at TIME: {TIME_HELP}")
    parser.flags.add_argument("--known-at", type=moment, metavar="TIME", help="its state as known at TIME")
    parser.flags.add_argument("--since", type=moment, metavar="TIME", help="only changes at or after TIME")
    parser.flags.add_argument(
        "-n", type=number(1), default=200, metavar="N", help="at most N changes or entities, the latest (200)"
    )
    parser.flags.add_argument("--exit-code", action="store_true", help="exit 1 if the answer is empty")
    add_output_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    session = Session.open(arguments)
    asks_state = arguments.at is not None or arguments.known_at is not None
    if asks_state and arguments.since is not None:
        raise UsageError("give --since, or --at and --known-at: changes, or a state.", "entity")
    if not arguments.entity:
        if asks_state:
            raise UsageError("--at and --known-at are for one entity: give TYPE/ID.", "entity")
        return _list(session, arguments)
    kind, name = find_entity(session, arguments.entity, "entity")
    asked: dict[str, Parameter] = {"entity_type": kind, "entity_id": name}
    if asks_state:
        asked |= {
            "at": "" if arguments.at is None else arguments.at.clickhouse(),
            "known_at": "" if arguments.known_at is None else arguments.known_at.clickhouse(),
        }
    else:
        asked |= {
            "since": OPEN if arguments.since is None else arguments.since.clickhouse(),
            "most": arguments.n,
        }
    question = "entity_state" if asks_state else "entity_changes"
    if arguments.sql:
        return session.print_sql((question, asked))
    rows = session.ask(question, **asked)
    known = None
    if not rows and (known := stored_entity(session, kind, name)) is None:
        raise unknown_entity(session, arguments.entity)
    if arguments.json:
        session.print_json([{key: value for key, value in row.items() if key != "total"} for row in rows])
    elif known is not None:
        session.screen.say(_why_none(session, arguments, known))
    elif asks_state:
        _show_state(session, arguments, rows)
    else:
        _show_changes(session, arguments, rows)
    return 1 if arguments.exit_code and not rows else 0


def _list(session: Session, arguments: argparse.Namespace) -> int:
    """Show which entities there are."""
    asked: dict[str, Parameter] = {
        "since": OPEN if arguments.since is None else arguments.since.clickhouse(),
        "most": arguments.n,
    }
    if arguments.sql:
        return session.print_sql(("list_entities", asked))
    rows = session.ask("list_entities", **asked)
    if arguments.json:
        session.print_json([{key: value for key, value in row.items() if key != "total"} for row in rows])
    elif rows:
        _show_list(session, arguments, rows)
    elif session.one("last_run") is None:
        session.screen.say(no_runs_yet(session))
    else:
        session.screen.say(
            f"No agent has stated anything about an entity (events retrospan.observation)"
            f"{since_text(session, arguments.since)} in {session.warehouse.address}."
        )
    return 1 if arguments.exit_code and not rows else 0


def _show_list(session: Session, arguments: argparse.Namespace, rows: list[Row]) -> None:
    show_table(
        session.screen,
        [
            Column("ENTITY", style="cyan", text=True),
            Column("FIELDS", right=True, priority=2),
            Column("STATEMENTS", right=True, priority=1),
            Column("RUNS", right=True, priority=3),
            Column("LAST"),
        ],
        [
            [
                f"{row['entity_type']}/{row['entity_id']}",
                count(whole(row, "fields")),
                count(whole(row, "said")),
                count(whole(row, "runs")),
                session.zone.listed(moment_of(row, "last_at"), session.now),
            ]
            for row in rows
        ],
    )
    total = whole(rows[0], "total") or len(rows)
    said = counted(total, "entity", "entities")
    if len(rows) < total:
        said = f"the latest {len(rows):,} of {said} (-n {total})"
    session.screen.note((f"{said}{since_text(session, arguments.since)}; {session.zone_note()}", "dim"))


def _why_none(session: Session, arguments: argparse.Namespace, known: Row) -> str:
    name, told = arguments.entity, session.zone.told
    said = f"of {counted(whole(known, 'said') or 0, 'statement')} about it"
    if arguments.at is None and arguments.known_at is None:
        last = told(moment_of(known, "last_valid"))
        return f"No change on {name}{since_text(session, arguments.since)}: {said} the latest holds since {last}."
    first, learned = told(moment_of(known, "first_valid")), told(moment_of(known, "first_known"))
    return (
        f"{name} had no known fields then: {said} the first holds since {first} and was known from {learned}."
    )


def _by(row: Row) -> str:
    """`4bf92f35/6 orla`: the step, which other commands take, and the agent."""
    run_id = short(str(row["run_id"]))
    where = run_id if row["step"] is None else f"{run_id}/{row['step']}"
    return " ".join([where, *([str(row["agent_name"])] if row["agent_name"] else [])])


def _how(row: Row) -> str:
    words = ["correction"] if row["correction"] else []
    return ", ".join([*words, *([str(row["source"])] if row["source"] else [])]) or "-"


def _show_changes(session: Session, arguments: argparse.Namespace, rows: list[Row]) -> None:
    show_table(
        session.screen,
        [
            Column("AT"),
            Column("FIELD", style="cyan", limit=32),
            Column("OLD → NEW", text=True),
            Column("BY", limit=40),
            Column("HOW", priority=1, limit=24),
        ],
        [
            [
                session.zone.exact(moment_of(row, "at")),
                str(row["field"]),
                f"{brief_json(text_of(row, 'old_value'))} → {brief_json(text_of(row, 'new_value'))}",
                _by(row),
                _how(row),
            ]
            for row in rows
        ],
    )
    total = whole(rows[0], "total") or len(rows)
    said = counted(total, "change")
    if len(rows) < total:
        said = f"the latest {len(rows):,} of {said} (-n {total})"
    session.screen.note(
        (f"{said} on {arguments.entity}{since_text(session, arguments.since)}; {session.zone_note()}", "dim")
    )


def _show_state(session: Session, arguments: argparse.Namespace, rows: list[Row]) -> None:
    when = "now" if arguments.at is None else f"at {session.zone.exact(arguments.at)}"
    known = "" if arguments.known_at is None else f", as known at {session.zone.exact(arguments.known_at)}"
    fields = counted(len(rows), "field")
    show_wrapped(
        session.screen,
        [(arguments.entity, "cyan"), " "],
        f"{when}{known}: {fields} ({session.zone_note()})",
    )
    show_table(
        session.screen,
        [
            Column("FIELD", style="cyan", limit=32),
            Column("VALUE", text=True),
            Column("SINCE"),
            Column("BY", limit=40),
            Column("HOW", priority=1, limit=24),
        ],
        [
            [
                str(row["field"]),
                brief_json(text_of(row, "value")),
                session.zone.exact(moment_of(row, "since")),
                _by(row),
                _how(row),
            ]
            for row in rows
        ],
    )
