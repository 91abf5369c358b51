"""`retrospan bundle`: runs as one portable file, and beforehand what of them can be replayed."""

from __future__ import annotations

import argparse

from retrospan.ingest.bundle.check import Check, check_of, places
from retrospan.ingest.cli.client.arriving import find_whole_run
from retrospan.ingest.cli.client.parameters import parameters_of
from retrospan.ingest.cli.client.references import short
from retrospan.ingest.cli.client.rows import texts_of
from retrospan.ingest.cli.client.runs_where import runs_where
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import (
    RUN_HELP,
    Help,
    Parser,
    UsageError,
    add_output_flags,
    number,
)
from retrospan.ingest.cli.terminal.progress import Progress
from retrospan.ingest.cli.terminal.text import counted
from retrospan.ingest.cli.views.bundle_rows import questions_of, read_run
from retrospan.schemas.bundle.container import write_bundle
from retrospan.schemas.bundle.form import Bundle, RunRecord
from retrospan.schemas.errors import NotFound

HELP = Help(
    job="Write runs into one file, with everything that is needed to replay them; or only say what can be replayed.",
    exits="0 answered; with --exit-code 1 if a call cannot be replayed; 2 wrong use or trouble",
    examples=(
        "retrospan bundle last --check",
        "retrospan bundle 4bf92f35 --out refund.bundle",
        "retrospan bundle --where \"outcome = 'error'\" --out errors.bundle",
    ),
    more="The file holds the contents of messages, arguments and results as they are stored: what was redacted stays so.\n"
    "docs/bundles.md describes it. A call of a tool that was never executed needs no answer, and is not counted.",
)
#: Runs of one file, unless -n says otherwise.
MOST = 1_000
#: Runs of a suite whose gaps are told one by one.
_TOLD = 20


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument(
        "run", metavar="[RUN]", nargs="?", default="", help=f"{RUN_HELP}; or leave it out, with --where"
    )
    add = parser.flags.add_argument
    add(
        "--where",
        metavar="SQL",
        help="the runs of which this condition over the view runs is true, as a suite",
    )
    add(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a value for {NAME:Type} in --where",
    )
    add(
        "-n",
        type=number(1),
        default=MOST,
        metavar="N",
        help=f"with --where: at most the newest N runs ({MOST:,})",
    )
    add("--out", metavar="FILE", help="write the bundle there (RUN.bundle, or runs.bundle for a suite)")
    add(
        "--checkpoints",
        action="store_true",
        help="with what checkpoints of LangGraph hold, for a fork with another state from the file",
    )
    add("--check", action="store_true", help="write nothing: say what can be replayed, and what is missing")
    add("--exit-code", action="store_true", help="exit 1 if a call cannot be replayed")
    add_output_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    if bool(arguments.run) == bool(arguments.where):
        raise UsageError("name one RUN, or the runs of a suite by --where SQL.", "bundle")
    if arguments.param and not arguments.where:
        raise UsageError("--param is for --where.", "bundle")
    if arguments.check and arguments.checkpoints:
        raise UsageError("--check writes nothing: leave out --checkpoints, or --check.", "bundle")
    if arguments.check and arguments.out:
        raise UsageError("--check writes nothing: leave out --out, or --check.", "bundle")
    session = Session.open(arguments)
    run_ids = [find_whole_run(session, arguments.run)] if arguments.run else _chosen(session, arguments)
    if arguments.sql:
        about = session.one("bundle_run", run_id=run_ids[0])
        traces = [] if about is None else texts_of(about, "trace_ids")
        return session.print_sql(*questions_of(run_ids[0], traces))
    runs, rules = _read(session, run_ids, with_checkpoints=arguments.checkpoints)
    checks = [check_of(each) for each in runs]
    if not arguments.check:
        _write(session, arguments, runs, rules)
    _tell(session, checks)
    return 1 if arguments.exit_code and any(check.gaps for check in checks) else 0


def _chosen(session: Session, arguments: argparse.Namespace) -> list[str]:
    values = parameters_of(arguments.param, arguments.where, "bundle")
    try:
        found = runs_where(session, arguments.where, values, arguments.n + 1)
    except ValueError as error:
        raise UsageError(f"--where: {error}.", "bundle") from error
    if not found:
        raise NotFound(
            f"--where is true of no run in {session.warehouse.address}. `retrospan runs` lists them."
        )
    if len(found) > arguments.n:
        note = f"--where holds of more runs: the newest {arguments.n:,} are taken (-n)"
        session.screen.note((note, "yellow"))
    return found[: arguments.n]


def _read(
    session: Session, run_ids: list[str], *, with_checkpoints: bool
) -> tuple[list[RunRecord], str | None]:
    """Return the runs and the versions of their interpretation. Of a suite, runs deleted meanwhile are left out and told."""
    runs, rules, gone = list[RunRecord](), set[str](), 0
    with Progress(session.screen) as progress:
        for done, run_id in enumerate(run_ids):
            progress.tell({"phase": "reading", "done": done, "total": len(run_ids), "unit": "runs"})
            try:
                run, version = read_run(session, run_id, with_checkpoints=with_checkpoints)
            except NotFound:
                if len(run_ids) == 1:
                    raise
                gone += 1
                continue
            runs.append(run)
            rules.add(version)
    if gone:
        session.screen.note(
            (f"{counted(gone, 'run')} left out: deleted since, or being interpreted again", "yellow")
        )
    return runs, ", ".join(sorted(rules)) or None


def _write(session: Session, arguments: argparse.Namespace, runs: list[RunRecord], rules: str | None) -> None:
    # Imported here: --check needs no version.
    from retrospan.ingest.cli.main import version

    path = arguments.out or (f"{_file_name(runs[0].run_id)}.bundle" if arguments.run else "runs.bundle")
    write_bundle(path, Bundle(made_by=f"retrospan {version()}", rules=rules, runs=tuple(runs)))
    session.screen.note((f"written: {path}, {counted(len(runs), 'run')}", "dim"))


def _file_name(run_id: str) -> str:
    """Return a name for the file of a run. An id may be any text, and leads nowhere."""
    name = "".join(each if each.isascii() and (each.isalnum() or each in "-_") else "_" for each in run_id)
    return short(name)[:64] or "run"


def _tell(session: Session, checks: list[Check]) -> None:
    if session.arguments.json:
        for check in checks:
            session.print_object(plain(check))
        return
    for check in checks[:_TOLD] if len(checks) > 1 else checks:
        _tell_one(session, check)
    if len(checks) > 1:
        whole = sum(not check.gaps and bool(check.calls) for check in checks)
        calls, replayable = sum(check.calls for check in checks), sum(check.replayable for check in checks)
        if len(checks) > _TOLD:
            session.screen.line((f"… {len(checks) - _TOLD:,} runs more (--json lists them)", "dim"))
        session.screen.line(
            f"{whole:,} of {counted(len(checks), 'run')} can be replayed whole, {replayable:,} of {counted(calls, 'call')}"
        )


def _tell_one(session: Session, check: Check) -> None:
    line = session.screen.line
    line("run ", (short(check.run_id), "cyan"), ": ", (check.said(), "yellow" if check.gaps else "bold"))
    for gap in check.gaps:
        line(f"  {places(gap.calls)}: {gap.reason}")
    for name, calls in check.not_compared:
        line((f"  not compared, because not on record: {name}, in {counted(calls, 'model call')}", "dim"))
    if check.is_open:
        line(("  the run has not ended, or its end is not on record: what came after is missing", "yellow"))
    if check.idempotency_keys:
        keys = ", ".join(f"{tool} {key}" for tool, key in check.idempotency_keys[:_TOLD])
        more = len(check.idempotency_keys) - _TOLD
        line((f"  idempotency keys: {keys}{f', {more:,} more' if more > 0 else ''}", "dim"))
    if check.unknown_effects:
        said = f"  what it does to the world is not stated for {counted(check.unknown_effects, 'tool call')}"
        line((f"{said} (retrospan.effect): on replay these are answered from the record only", "dim"))


def plain(check: Check) -> dict[str, object]:
    """Return a check as a JSON object."""
    return {
        "run_id": check.run_id,
        "calls": check.calls,
        "replayable": check.replayable,
        "missing": [
            {
                "reason": gap.reason,
                "calls": [call.n for call in gap.calls],
                "steps": [call.step for call in gap.calls],
            }
            for gap in check.gaps
        ],
        "not_compared": dict(check.not_compared),
        "ended": not check.is_open,
        "writes": check.writes,
        "unknown_effects": check.unknown_effects,
        "idempotency_keys": [{"tool": tool, "key": key} for tool, key in check.idempotency_keys],
    }
