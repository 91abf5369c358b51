"""`retrospan state`: what the agent knew as a step began, at a time, or after the last step."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.incomplete import warn_if_incomplete
from retrospan.ingest.cli.client.pages import LAST
from retrospan.ingest.cli.client.references import find_step, is_whole, short, split_step, step_address
from retrospan.ingest.cli.client.rows import moment_of, number_of, text_of, whole
from retrospan.ingest.cli.client.session import Asked, Session
from retrospan.ingest.cli.terminal.arguments import (
    RUN_HELP,
    Help,
    Parser,
    UsageError,
    add_output_flags,
    moment,
    number,
)
from retrospan.ingest.cli.terminal.moments import TIME_HELP, Moment
from retrospan.ingest.cli.terminal.screen import Part
from retrospan.ingest.cli.terminal.table import Column, last_column_width, show_table, show_wrapped
from retrospan.ingest.cli.terminal.text import counted, duration, fitted, safe
from retrospan.ingest.cli.terminal.values import brief_json, dump, parse
from retrospan.ingest.cli.views.dialogue import as_dialogue
from retrospan.ingest.cli.views.last_words import (
    is_stopped,
    resting_on,
    rests_on,
    show_believed,
    show_last_words,
)
from retrospan.schemas.errors import NotFound

HELP = Help(
    job="Show what the agent knew: the state when step N began, or after the last step.",
    exits="0 answered; with --exit-code 1 if the state is not known; 2 wrong use or trouble",
    examples=("retrospan state last", "retrospan state last --step 3", "retrospan state last/3 --json"),
    sql="SELECT key, value FROM run_state(run_id = '…', step = 3)",
    more="SINCE is the step after which the value appeared; start: it was there from the start.",
)


#: After everything that can be kept.
FOREVER = "2262-01-01 00:00:00"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a run: as `step` began, or after the last step (0)."""

    step: int
    words: str
    known: bool
    source: str | None
    at: Moment | None
    schema: str | None = None
    left_by: int = 0
    """The step that left this state, where no other began with it."""


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument("run", metavar="RUN[/N]", help=f"{RUN_HELP}; /N is the same as --step N")
    parser.flags.add_argument(
        "--step",
        type=number(0),
        metavar="N",
        help="the state when step N began (0: after the last step, the default)",
    )
    parser.flags.add_argument("--at", type=moment, metavar="TIME", help=f"the state at TIME: {TIME_HELP}")
    parser.flags.add_argument(
        "--full", action="store_true", help="every value in full, over as many lines as it needs"
    )
    parser.flags.add_argument("--exit-code", action="store_true", help="exit 1 if the state is not known")
    add_output_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    session = Session.open(arguments)
    whole_id, _ = split_step(arguments.run)
    if is_whole(whole_id) and not arguments.sql:
        session.ask_ahead(_steps(whole_id), ("settled_run", {"run_id": whole_id}))
    run_id, step = find_step(session, arguments.run, shows_it=not arguments.sql)
    given = [value for value in (step, arguments.step, arguments.at) if value is not None]
    if len(given) > 1:
        raise UsageError("give one of RUN/N, --step and --at.", "state")
    question, parameters = _steps(run_id)
    steps = session.ask(question, **parameters)
    found = session.run(run_id)
    if not steps and not arguments.sql and rests_on(session, run_id, FOREVER)[0]:
        return _without_steps(session, run_id, found)
    asked = step if arguments.step is None else arguments.step
    place = find_place(session, run_id, steps, asked, arguments.at)
    if arguments.sql:
        return session.print_sql(_question(run_id, place))
    # As a step began nothing was known of what followed, though it be the last and never ended.
    at_end = arguments.at is None and not asked and _is_last(steps, place)
    until = FOREVER if place.at is None or at_end else place.at.clickhouse()
    if not arguments.json:
        session.ask_ahead(resting_on(run_id, until))
    rows = _rows_at(session, run_id, place)
    unknown = 1 if arguments.exit_code and not place.known else 0
    if arguments.json:
        session.print_json(rows)
        if not place.known:
            session.screen.say(_not_known(run_id, steps, place))
        return unknown
    warn_if_incomplete(session, found)
    observed, basis = rests_on(session, run_id, until)
    if not place.known:
        session.screen.say(
            _not_known(run_id, steps, place) + (f" What was observed: {basis}." if observed else "")
        )
        if observed and found is not None and is_stopped(found):
            session.screen.line((basis, "dim"))
            show_believed(session, run_id, until)
    else:
        _show_place(session, run_id, place, rows, basis)
    if found is not None and is_stopped(found) and at_end:
        show_last_words(session, found)
    return unknown


def _show_place(session: Session, run_id: str, place: Place, rows: list[Row], basis: str) -> None:
    when = "" if place.at is None else f", {session.zone.exact(place.at)} ({session.zone_note()})"
    lead: list[Part] = ["run ", (short(run_id), "cyan"), ": "]
    schema = "" if place.schema is None else f", schema {place.schema}"
    show_wrapped(
        session.screen,
        lead,
        f"{place.words}{when}; source {place.source or '-'}{schema}{basis and f'; {basis}'}",
    )
    if not rows:
        session.screen.line("The state was empty there: no keys.")
    elif session.arguments.full:
        _show_full(session, rows)
    else:
        _show(session, rows, place)


def _without_steps(session: Session, run_id: str, found: Row | None) -> int:
    """Show what a run believed that observed things and took no step."""
    arguments = session.arguments
    until = FOREVER if arguments.at is None else arguments.at.clickhouse()
    observed, basis = rests_on(session, run_id, until)
    said = f"Not known: run {short(run_id)} has no steps, so it has no states. What it had observed is not guessed."
    if arguments.json:
        session.screen.say(said)
        session.print_json([])
        return 1 if arguments.exit_code else 0
    warn_if_incomplete(session, found)
    session.screen.say(said)
    if observed:
        session.screen.line((basis, "dim"))
        show_believed(session, run_id, until)
    if found is not None and is_stopped(found) and arguments.at is None:
        show_last_words(session, found)
    return 1 if arguments.exit_code else 0


def _is_last(steps: list[Row], place: Place) -> bool:
    """Tell whether nothing of the run follows a place."""
    last = whole(steps[-1], "step")
    return place.step == 0 or (place.step == last and steps[-1]["status"] == "incomplete")


def _steps(run_id: str) -> Asked:
    return "show_steps", {"run_id": run_id, "first": 0, "last": LAST}


def _question(run_id: str, place: Place) -> Asked:
    if place.left_by:
        return "state_after", {"run_id": run_id, "step": place.left_by}
    return "state", {"run_id": run_id, "step": place.step}


def _rows_at(session: Session, run_id: str, place: Place) -> list[Row]:
    """Return the state at a place, a row per key."""
    if not place.known:
        return []
    name, asked = _question(run_id, place)
    rows = session.ask(name, **asked)
    if not place.left_by:
        return rows
    state = parse(rows[0]["state"]) if rows else {}
    items = sorted(state.items()) if isinstance(state, dict) else []
    return [
        {"key": key, "value": dump(value), "changed_at_step": None, "span_id": None} for key, value in items
    ]


def find_place(session: Session, run_id: str, steps: list[Row], step: int | None, at: Moment | None) -> Place:
    """Return the place meant by a step or a time. Raises NotFound when the run has no such step or had not begun."""
    name = short(run_id)
    if not steps:
        raise NotFound(f"run {name} has no steps, so it has no states.")
    if at is not None:
        return _place_at(session, name, steps, at)
    if not step:
        return _last_known(steps)
    if step > len(steps):
        raise NotFound(f"run {name} has {counted(len(steps), 'step')}; there is no step {step}.")
    return _before(steps[step - 1])


def _describe(step: Row) -> str:
    act = f"{step['step_kind']} {step['name']}".strip()
    return safe(f"step {step['step']} ({act})")


def _before(step: Row) -> Place:
    known = step["state_before_hash"] is not None
    return Place(
        whole(step, "step") or 0,
        f"the state as {_describe(step)} began",
        known,
        text_of(step, "state_source"),
        moment_of(step, "started_at"),
        text_of(step, "state_schema"),
    )


def _after_last(steps: list[Row]) -> Place:
    last = steps[-1]
    known = last["state_after_hash"] is not None
    return Place(
        0,
        f"the state after the last {_describe(last)}",
        known,
        text_of(last, "state_source"),
        _ended(last),
        text_of(last, "state_schema"),
    )


def _last_known(steps: list[Row]) -> Place:
    """Return the place after the last step; of a run that is in it still, as that began, else after the last that ended."""
    place, last = _after_last(steps), steps[-1]
    if place.known or last["status"] != "incomplete":
        return place
    before = _before(last)
    if before.known:
        return replace(before, words=f"{before.words}, which has not ended")
    left = next((step for step in reversed(steps) if step["status"] != "incomplete"), None)
    if left is None or not _leaves(left):
        return place
    return replace(_left(left), words=f"the state after the last {_describe(left)} that ended")


def _leaves(step: Row) -> bool:
    """Tell whether the state that a step left is known."""
    return step["state_after_hash"] is not None


def _left(step: Row) -> Place:
    """Return the place after a step that left a state, where no other need have begun with it."""
    return Place(
        0,
        f"the state after {_describe(step)}",
        True,
        text_of(step, "state_source"),
        _ended(step),
        text_of(step, "state_schema"),
        whole(step, "step") or 0,
    )


def _last_ended(steps: list[Row], at: Moment) -> Row | None:
    """Return the step that ended last, by a time."""
    ended = [
        (end, place) for place, step in enumerate(steps) if (end := _ended(step)) is not None and end <= at
    ]
    return steps[max(ended)[1]] if ended else None


def _ended(step: Row) -> Moment | None:
    started, took = moment_of(step, "started_at"), number_of(step, "duration_ms")
    return None if started is None or took is None else Moment(started + round(took * 1e6))


def _place_at(session: Session, name: str, steps: list[Row], at: Moment) -> Place:
    """During a step: the state as it began; between two: the state as the next one began."""
    begun = [
        step for step in steps if (started := moment_of(step, "started_at")) is not None and started <= at
    ]
    if not begun:
        first = session.zone.told(moment_of(steps[0], "started_at"))
        raise NotFound(f"run {name} had not begun at {session.zone.told(at)}: its first step began {first}.")
    current = begun[-1]
    ended = _ended(current)
    if ended is None or ended > at:
        place, where = _before(current), f"during {_describe(current)}"
    elif len(begun) < len(steps):
        following = steps[len(begun)]
        place, where = _before(following), f"between step {current['step']} and {_describe(following)}"
        if not place.known and (left := _last_ended(begun, at)) is not None and _leaves(left):
            place = _left(left)
            where = f"as {_describe(left)} left it, before {_describe(following)}"
    else:
        place, where = (
            _after_last(steps),
            f"{duration((at - ended) / 1e6)} after the last {_describe(current)}",
        )
    return replace(place, words=f"the state at that time, {where}", at=at)


def _not_known(run_id: str, steps: list[Row], place: Place) -> str:
    before = steps if place.step == 0 else steps[: place.step - 1]
    said = f"Not known: {place.words}. The producer did not record it, and it is not guessed."
    known = [_known_at(run_id, step, place) for step in before]
    if newest := max((each for each in known if each is not None), default=None):
        return f"{said}\nLast known: {newest[2]}."
    return said + (" No step before it has a known state either." if before else "")


def _known_at(run_id: str, step: Row, place: Place) -> tuple[Moment, int, str] | None:
    """Return the latest that is known of the state around a step: when that was, its number, and where to see it."""
    number, ended = whole(step, "step") or 0, _ended(step)
    if _leaves(step) and ended is not None and (place.at is None or ended <= place.at):
        return (
            ended,
            number,
            f"as step {number} ended (retrospan state {short(run_id)} --at {ended.rfc3339()})",
        )
    began = moment_of(step, "started_at")
    if step["state_before_hash"] is None or began is None:
        return None
    return began, number, f"as step {number} began (retrospan state {step_address(run_id, number)})"


def _since(row: Row, place: Place) -> str:
    changed = whole(row, "changed_at_step") or 0
    if place.left_by:
        return "-"
    return "start" if not changed else f"step {changed}"


def _show(session: Session, rows: list[Row], place: Place) -> None:
    heads: list[list[str]] = []
    texts: list[str] = []
    for row in rows:
        heads.append([str(row["key"]), _since(row, place)])
        value = text_of(row, "value")
        said = as_dialogue(value)
        texts.append(brief_json(value) if said is None else counted(len(said), "message"))
        for role, words in said or []:
            heads.append(["", ""])
            texts.append(f"{role:<9} {words}")
    columns = [Column("KEY", style="cyan", limit=32), Column("SINCE"), Column("VALUE", text=True)]
    room = last_column_width(session.screen, columns, heads)
    values = [fitted(text, room, session.screen.mark) for text in texts]
    show_table(session.screen, columns, [[*head, value] for head, value in zip(heads, values, strict=True)])


def _show_full(session: Session, rows: list[Row]) -> None:
    for row in rows:
        session.screen.line(
            (str(row["key"]), "cyan"), (f"  since {row['changed_at_step'] or 'start'}", "dim")
        )
        value = parse(row["value"])
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        show_wrapped(session.screen, ["  "], text)
