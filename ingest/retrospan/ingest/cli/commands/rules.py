"""`retrospan rules test`: what mutation rules would give on stored runs, before they are turned on."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from retrospan.ingest.cli.client.collector_client import Parameter, Row
from retrospan.ingest.cli.client.empty import OPEN, no_runs_yet, since_text
from retrospan.ingest.cli.client.references import find_run, short, short_length, step_address
from retrospan.ingest.cli.client.rows import text_of, whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import (
    RUN_HELP,
    Help,
    Parser,
    add_output_flags,
    add_since_flag,
    number,
)
from retrospan.ingest.cli.terminal.table import Column, show_table
from retrospan.ingest.cli.terminal.text import counted
from retrospan.ingest.cli.terminal.values import brief_json

if TYPE_CHECKING:
    from retrospan.ingest.rules.rule import Called, Missed, Statement
    from retrospan.ingest.rules.ruleset import Ruleset

HELP = Help(
    job="Show what a file of mutation rules would find in the stored tool calls. Changes nothing.",
    exits="0 answered; with --exit-code 1 if a rule matches no call or misses what it looks for; 2 wrong use or trouble",
    examples=("retrospan rules test rules.toml", "retrospan rules test rules.toml --run last --json"),
    more="To turn them on: interpreter.rules in the collector's configuration, then retrospan rebuild.",
)


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument("action", metavar="test", choices=("test",), help="try the rules")
    parser.inputs.add_argument("file", metavar="FILE", type=Path, help="the rules, in TOML")
    parser.flags.add_argument("--run", metavar="RUN", help=f"only on this run: {RUN_HELP}")
    add_since_flag(parser)
    parser.flags.add_argument(
        "-n", type=number(1), default=100_000, metavar="N", help="look at no more than N calls (100000)"
    )
    parser.flags.add_argument(
        "--exit-code", action="store_true", help="exit 1 if a rule matches no call or misses something"
    )
    add_output_flags(parser)


@dataclass(frozen=True, slots=True)
class _Found:
    """What one call says by one rule."""

    row: Row
    said: Statement | Missed


def run(arguments: argparse.Namespace) -> int:
    from retrospan.ingest.rules.rule import Missed
    from retrospan.ingest.rules.ruleset import Ruleset

    session = Session.open(arguments)
    rules = Ruleset.read(arguments.file)
    conditions: dict[str, Parameter] = {
        "since": OPEN if arguments.since is None else arguments.since.clickhouse(),
        "run_id": find_run(session, arguments.run) if arguments.run else "",
    }
    asked: dict[str, Parameter] = {**conditions, "tools": _tools(rules), "most": arguments.n + 1}
    if arguments.sql:
        return session.print_sql(("tool_calls_for_rules", {**asked, "most": arguments.n}))
    rows = session.ask("tool_calls_for_rules", **asked)
    more, rows = len(rows) > arguments.n, rows[: arguments.n]
    if any(rule.services for rule in rules.rules):
        named = session.ask("services_of_tools", **conditions)
        services = {(row["run_id"], row["span_id"]): row["service_name"] for row in named}
        for row in rows:
            row["service_name"] = services.get((row["run_id"], row["span_id"]), row["service_name"])
    found = [_Found(row, said) for row in rows for said in rules.read_call(_called(row))]
    missed = [each for each in found if isinstance(each.said, Missed)]
    idle = [rule.name for rule in rules.rules if not any(each.said.rule == rule.name for each in found)]
    code = 1 if arguments.exit_code and (missed or idle) else 0
    if arguments.json:
        session.print_json([*_as_rows(found)])
        return code
    if not rows and not _has_runs(session):
        session.screen.say(no_runs_yet(session))
        return code
    _show(session, found)
    _tell(session, arguments, len(rows), found, missed, idle, more)
    return code


def _tools(rules: Ruleset) -> list[str]:
    """Return the tools that the rules name, none where one has a pattern."""
    globs = [glob for rule in rules.rules for glob in rule.tools]
    return [] if any(set(glob) & set("*?[") for glob in globs) else sorted(set(globs))


def _called(row: Row) -> Called:
    from retrospan.ingest.rules.paths import MISSING
    from retrospan.ingest.rules.rule import Called, result_of

    arguments = text_of(row, "arguments")
    return Called(
        tool=str(row["tool_name"]),
        agent=text_of(row, "agent_name"),
        service=text_of(row, "service_name"),
        status=str(row["status"]),
        arguments=MISSING if arguments is None else result_of(arguments),
        result=result_of(text_of(row, "result")),
    )


def _as_rows(found: list[_Found]) -> Iterator[Row]:
    """Yield what `--json` prints: the columns of the view observations that follow from the call; or the problem."""
    from retrospan.ingest.json_text import write_json
    from retrospan.ingest.rules.rule import Missed

    for each in found:
        row, said = each.row, each.said
        of_call = {"run_id": row["run_id"], "step": row["step"], "span_id": row["span_id"]}
        if isinstance(said, Missed):
            yield {
                **of_call,
                "tool_name": row["tool_name"],
                "problem": f"rule:{said.rule}",
                "reason": f"{said.key}: {said.reason}",
            }
            continue
        yield {
            "entity_type": said.entity_type,
            "entity_id": said.entity_id,
            "field": said.field,
            "op": "clear" if said.value is None else "set",
            "value": None if said.value is None else write_json(said.value),
            **of_call,
            "agent_name": row["agent_name"],
            "source": said.source,
            "confidence": said.confidence,
            "priority": said.priority,
            "tool_name": row["tool_name"],
        }


def _show(session: Session, found: list[_Found]) -> None:
    """One line per field that a call wrote, with what it held before."""
    from retrospan.ingest.json_text import write_json
    from retrospan.ingest.rules.rule import Missed

    lines: dict[tuple[object, ...], list[str]] = {}
    length = short_length([str(each.row["run_id"]) for each in found])
    for each in found:
        said, row = each.said, each.row
        if isinstance(said, Missed):
            continue
        key = (row["run_id"], row["ordinal"], said.rule, said.element, said.entity_id, said.field)
        where = (
            step_address(str(row["run_id"]), row["step"])
            if whole(row, "step")
            else short(str(row["run_id"]), length)
        )
        line = lines.setdefault(
            key,
            [
                where,
                str(row["tool_name"]),
                f"{said.entity_type}/{said.entity_id}",
                said.field,
                "-",
                "-",
                said.rule,
            ],
        )
        line[4 if said.held else 5] = "cleared" if said.value is None else brief_json(write_json(said.value))
    if lines:
        columns = [
            Column("CALL", style="cyan"),
            Column("TOOL", priority=2, limit=32),
            Column("ENTITY", limit=40),
            Column("FIELD", limit=32),
            Column("BEFORE", text=True),
            Column("AFTER", text=True),
            Column("RULE", priority=1, limit=24),
        ]
        show_table(session.screen, columns, list(lines.values()))


def _tell(
    session: Session,
    arguments: argparse.Namespace,
    calls: int,
    found: list[_Found],
    missed: list[_Found],
    idle: list[str],
    more: bool,
) -> None:
    from retrospan.ingest.rules.rule import Missed

    statements = len(found) - len(missed)
    looked = f"{counted(calls, 'call')} that succeeded{since_text(session, arguments.since)}"
    session.screen.note((f"{counted(statements, 'observation')} from {looked}; nothing was changed", "dim"))
    for each in missed[:10]:
        if isinstance(each.said, Missed):
            where = step_address(str(each.row["run_id"]), each.row["step"])
            session.screen.note(
                (f"rule {each.said.rule}, {where}: {each.said.key}: {each.said.reason}", "yellow")
            )
    if len(missed) > 10:
        session.screen.note(
            (f"and {counted(len(missed) - 10, 'more problem')} of that kind: --json lists all", "yellow")
        )
    if idle:
        session.screen.note(
            (f"no call here fits {'rule' if len(idle) == 1 else 'the rules'} {', '.join(idle)}", "yellow")
        )
    if more:
        session.screen.note((f"there are more calls: -n {arguments.n * 4}", "yellow"))


def _has_runs(session: Session) -> bool:
    counts = session.one("count_runs", since=OPEN, outcome="", agent="") or {}
    return bool(whole(counts, "total"))
