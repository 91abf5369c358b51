"""What is known of a run that stopped before it ended: where it stood, what it had sent, and what it may have done."""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.rows import moment_of, text_of, whole
from retrospan.ingest.cli.client.session import Asked, Session
from retrospan.ingest.cli.terminal.screen import Part, Style
from retrospan.ingest.cli.terminal.table import Column, show_table, show_wrapped
from retrospan.ingest.cli.terminal.text import counted, fitted
from retrospan.ingest.cli.terminal.values import brief_json, call, parse

#: Outcomes of runs that stopped; of an incomplete one only where it is known that it never ended.
STOPPED = ("killed", "lost")
#: Of each kind so many lines are shown where not everything is asked for.
MOST_LINES = 8
#: How many observed values stand for a state that is not known.
MOST_VALUES = 20


def is_stopped(run: Row) -> bool:
    """Tell whether a run began, did not end, and does not go on as far as anybody knows."""
    return run["outcome"] in STOPPED or (
        run["outcome"] == "incomplete" and run["incomplete_because"] == "not_ended"
    )


def show_last_words(session: Session, run: Row) -> None:
    """Show where a stopped run stood, which calls it had sent, what it may have done, and what would be undone."""
    run_id = str(run["run_id"])
    last = session.zone.exact(moment_of(run, "last_said_at"))
    session.ask_ahead(*((f"cut_off_{what}", {"run_id": run_id}) for what in ("steps", "calls", "effects")))
    session.screen.line((f"Last words, {last}", "bold"))
    _show_steps(session, session.ask("cut_off_steps", run_id=run_id))
    _show_lines(
        session,
        "sent, not answered",
        [_called(row) for row in session.ask("cut_off_calls", run_id=run_id)],
    )
    effects = session.ask("cut_off_effects", run_id=run_id)
    unknown = [_effect(row) for row in effects if row["effect_status"] == "unknown"]
    _show_lines(session, "may have happened", unknown, "yellow")
    _show_lines(session, "would be undone", [_effect(row) for row in effects if row["to_undo"]], "yellow")


def resting_on(run_id: str, until: str) -> Asked:
    """Return what `rests_on` asks."""
    return "rests_on", {"run_id": run_id, "until": until}


def rests_on(session: Session, run_id: str, until: str) -> tuple[int, str]:
    """Return how many observations a run had made by then, and that in words."""
    question, parameters = resting_on(run_id, until)
    found = session.one(question, **parameters) or {}
    number = whole(found, "observations") or 0
    last = session.zone.exact(moment_of(found, "last_said_at")) if number else ""
    return number, f"from {counted(number, 'observation')}, the last at {last}" if number else ""


def show_believed(session: Session, run_id: str, until: str) -> None:
    """Show what the run had observed by then, the newest first: what stands in the place of a state that is not known."""
    most = 2**31 if session.arguments.full or session.screen.width is None else MOST_VALUES
    rows = session.ask("believed", run_id=run_id, until=until, most=most)
    columns = [
        Column("ENTITY", style="cyan", limit=40),
        Column("FIELD"),
        Column("SAID"),
        Column("VALUE", text=True),
    ]
    show_table(
        session.screen,
        columns,
        [
            [
                f"{row['entity_type']}/{row['entity_id']}",
                str(row["field"]),
                session.zone.clock(moment_of(row, "said_at")),
                brief_json(text_of(row, "value") or "null"),
            ]
            for row in rows
        ],
    )
    total = whole(rows[0], "total") or 0 if rows else 0
    if total > len(rows):
        session.screen.note((f"{len(rows)} of {counted(total, 'value')}; all of them: --full", "dim"))


def _show_steps(session: Session, steps: Sequence[Row]) -> None:
    for row in steps[: None if session.arguments.full else MOST_LINES]:
        ended = row["status"] != "incomplete"
        at = session.zone.exact(moment_of(row, "ended_at" if ended else "started_at"))
        task, total = whole(row, "task_step"), whole(row, "task_steps_total")
        of_task = "" if task is None else f", task step {task}" + ("" if total is None else f" of {total}")
        lead: list[Part] = [(f"  {'last ended' if ended else 'in step':<19} ", "dim")]
        words = f"step {row['step']} ({row['step_kind']} {row['name']}".rstrip() + f"{of_task}), {at}"
        show_wrapped(session.screen, lead, words, "" if ended else "yellow")
        state = text_of(row, "state")
        said = "not known" if state is None else state
        _show_value(session, "state after" if ended else "state before", said)


def _show_value(session: Session, name: str, text: str) -> None:
    lead: list[Part] = [(f"    {name:<17} ", "dim")]
    width = session.screen.width
    if width is not None and not session.arguments.full:
        text = fitted(text, (width - 22) * 2, session.screen.mark)
    show_wrapped(session.screen, lead, text)


def _show_lines(session: Session, name: str, lines: Sequence[str], style: Style = "") -> None:
    shown = lines if session.arguments.full or session.screen.width is None else lines[:MOST_LINES]
    for place, text in enumerate(shown):
        lead: list[Part] = [(f"  {name if not place else '':<19} ", "dim")]
        width = session.screen.width
        if width is not None and not session.arguments.full:
            text = fitted(text, (width - 22) * 2, session.screen.mark)
        show_wrapped(session.screen, lead, text, style)
    if len(shown) < len(lines):
        session.screen.line((f"  {'':<19} and {len(lines) - len(shown)} more (--full)", "dim"))


def _called(row: Row) -> str:
    step = "" if row["step"] is None else f"step {row['step']}: "
    name = str(row["name"]) or "-"
    said = call(name, parse(row["arguments"])) if row["kind"] == "tool" else f"model {name}"
    return step + said


def _effect(row: Row) -> str:
    step = "" if row["step"] is None else f"step {row['step']}: "
    key = "no idempotency key" if row["idempotency_key"] is None else f"key {row['idempotency_key']}"
    return f"{step}{row['tool_name']} ({row['effect'] or 'effect not stated'}, {row['effect_status']}), {key}"
