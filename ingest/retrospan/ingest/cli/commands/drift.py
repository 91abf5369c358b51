"""`retrospan drift`: whether an agent behaves differently from before."""

from __future__ import annotations

import argparse

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.empty import no_runs_yet
from retrospan.ingest.cli.client.references import short, short_length
from retrospan.ingest.cli.client.rows import number_of, text_of, texts_of, whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import Help, Parser, add_output_flags
from retrospan.ingest.cli.terminal.spans import SPAN_HELP, span
from retrospan.ingest.cli.terminal.table import Column, show_table
from retrospan.ingest.cli.terminal.text import count, counted, safe

#: Scores without a verdict that are named.
_NAMED = 5
HELP = Help(
    job="Compare two populations of runs: tools, steps, tokens, latency, failures and loops, run by run.",
    exits="0 no drift; 1 drift; 2 wrong use, trouble, or too few runs for a verdict",
    examples=(
        "retrospan drift --baseline 7d..1d --candidate 1d.. --agent triage",
        "retrospan drift --baseline version=1.4.1 --candidate 2d..,version=1.4.2",
    ),
    sql="SELECT * FROM drift(baseline_from = '', baseline_to = '', baseline_version = '1.4.1', ...)",
    more=SPAN_HELP,
)


def add_arguments(parser: Parser) -> None:
    add = parser.flags.add_argument
    add("--baseline", type=span, required=True, metavar="SPAN", help="the runs to compare with")
    add("--candidate", type=span, required=True, metavar="SPAN", help="the runs to judge")
    add("--agent", default="", metavar="NAME", help="only of this agent")
    add("--all", action="store_true", help="also show what did not drift")
    add_output_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    session = Session.open(arguments)
    baseline, candidate = arguments.baseline, arguments.candidate
    asked = {
        "baseline_from": baseline.start,
        "baseline_to": baseline.end,
        "baseline_version": baseline.version,
        "candidate_from": candidate.start,
        "candidate_to": candidate.end,
        "candidate_version": candidate.version,
        "agent": arguments.agent,
    }
    if arguments.sql:
        return session.print_sql(("drift", asked), ("score_drift", asked))
    rows = session.ask("drift", **asked)
    counts = session.one("count_evaluations")
    # Most warehouses hold none, and the view takes half a second to find that out.
    scores = session.ask("score_drift", **asked) if counts is None or counts["evaluations"] else []
    verdict = _verdict(rows, scores)
    if arguments.json:
        session.print_json(rows)
        session.print_json(scores, view="score_drift")
        return verdict
    if verdict == 2:
        session.screen.say(_too_few(session, rows))
        return verdict
    sizes = rows[0]
    rows = [*rows, *(_as_metric(row) for row in scores)]
    drifted = [row for row in rows if row["drifted"]]
    shown = rows if arguments.all else drifted
    if shown:
        _show(session, shown)
    tested = [row for row in rows if not row.get("unknown")]
    tests = counted(len(tested), "metric")
    session.screen.note(
        (
            f"{counted(len(drifted), 'metric')} of {len(tested)} drifted"
            if drifted
            else f"no drift in {tests}",
            "yellow" if drifted else "green",
        ),
        (
            f"; {count(whole(sizes, 'candidate_n'))} runs against {count(whole(sizes, 'baseline_n'))}"
            + ("" if arguments.all or len(drifted) == len(rows) else "; --all shows the others"),
            "dim",
        ),
    )
    if len(tested) < len(rows):
        names = sorted({str(row["metric"]) for row in rows if row.get("unknown")})
        listed = ", ".join(map(safe, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")
        session.screen.note(
            (f"no verdict on {counted(len(names), 'score')}, too few runs have it: {listed}", "dim")
        )
    return verdict


def _verdict(rows: list[Row], scores: list[Row]) -> int:
    if not rows or any(row["statistic"] == "too_few_runs" for row in rows):
        return 2
    return 1 if any(row["drifted"] for row in (*rows, *scores)) else 0


def _as_metric(row: Row) -> Row:
    """Return a row of `score_drift` as a metric of `drift`."""
    label = f" = {row['label']}" if row["label"] else ""
    return {**row, "metric": f"score: {row['name']}{label}"}


def _too_few(session: Session, rows: list[Row]) -> str:
    if not rows:
        counts = session.one("count_runs", since="1970-01-01 00:00:00", outcome="", agent="")
        if not counts or not whole(counts, "total"):
            return no_runs_yet(session)
        return "No verdict: there are no runs in either span. retrospan runs lists runs with their times and agents."
    row = rows[0]
    return (
        f"No verdict: the candidate has {counted(whole(row, 'candidate_n') or 0, 'run')}, the baseline "
        f"{count(whole(row, 'baseline_n'))}; {number_of(row, 'threshold'):g} a side are needed. Widen the spans."
    )


def _show(session: Session, rows: list[Row]) -> None:
    runs = [run for row in rows for run in texts_of(row, "examples")]
    length = short_length(runs) if runs else 8
    show_table(
        session.screen,
        [
            Column("METRIC"),
            Column("BASELINE", right=True),
            Column("CANDIDATE", right=True),
            Column("STATISTIC", priority=2),
            Column("VALUE", right=True, priority=1),
            Column("P", right=True, priority=1),
            Column("THRESHOLD", right=True, priority=2),
            Column("VERDICT", style="yellow"),
            Column("RUNS", style="cyan", priority=1),
        ],
        [
            [
                str(row["metric"]),
                _figure(row, "baseline_mean"),
                _figure(row, "candidate_mean"),
                text_of(row, "statistic") or "-",
                _figure(row, "value"),
                _figure(row, "p_value"),
                _figure(row, "threshold"),
                "drifted" if row["drifted"] else str(row.get("unknown") or "-").replace("_", " "),
                " ".join(short(run, length) for run in texts_of(row, "examples")) or "-",
            ]
            for row in rows
        ],
    )


def _figure(row: Row, name: str) -> str:
    value = number_of(row, name)
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
