"""What users type for runs, steps and things, turned into ids and references.

RUN is a run id, an unambiguous prefix of one (4 characters or more), the same of a trace that is part of one, or
`last`. `RUN/N` is step N. REF is a reference
`kind:id`, a run, or `RUN/N`.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.empty import being_read
from retrospan.ingest.cli.client.entities import find_entity, unknown_entity
from retrospan.ingest.cli.client.rows import moment_of, whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.text import counted, cut, safe
from retrospan.schemas.errors import NotFound
from retrospan.schemas.references import entity_ref, run_ref, step_ref

SHORTEST_PREFIX = 4
MESSAGE_HASH = 32
_HEX_ID = re.compile(r"[0-9a-f]{32}$")
REFERENCE_KINDS = ("run", "span", "step", "message", "output", "observation", "entity", "document")


def short(identifier: str, length: int = 8) -> str:
    """Return the id as lists show it: the beginning of a trace id or hash; ids that people chose stay whole."""
    return identifier[:length] if _HEX_ID.match(identifier) else identifier


def short_length(run_ids: list[str]) -> int:
    """Return the least number of characters, 8 or more, that tells the ids apart."""
    distinct = set(run_ids)
    longest = max((len(run_id) for run_id in distinct), default=8)
    for length in range(8, longest):
        if len({short(run_id, length) for run_id in distinct}) == len(distinct):
            return length
    return longest


def describe(session: Session, run: Row) -> str:
    """`4bf92f35…  orla  14:32:07  Customer C-1042…`: a run in a list of candidates."""
    words = [str(run["run_id"]), str(run["agent_name"] or "-"), str(run["outcome"])]
    words.append(session.zone.listed(moment_of(run, "started_at"), session.now))
    return safe("  ".join([*words, cut(safe(str(run["input"] or "")), 60)]))


def is_whole(typed: str) -> bool:
    """Return whether it can only be the whole id of a run, so that about it can be asked before it is found."""
    return _HEX_ID.match(typed) is not None


def find_run(session: Session, typed: str, *, shows_it: bool = False) -> str:
    """Return the id of the run that was meant. Raises NotFound with the candidates or the nearest ids.

    With `shows_it` the command shows the run as well: that is asked for at once, and kept.
    """
    if typed == "last":
        newest = session.one("last_run")
        if newest is None:
            raise NotFound(f"there is no last run: {session.warehouse.address} has no runs yet.")
        return str(newest["run_id"])
    if is_whole(typed):
        # A whole id, as most programs give it: a tenth of what a list of candidates takes.
        found = session.run(typed) if shows_it else session.one("is_run", run_id=typed)
        if found is not None:
            return typed
    candidates = session.ask("find_runs", prefix=typed)
    exact = [run for run in candidates if run["run_id"] == typed]
    if not candidates and typed != typed.lower():
        candidates = session.ask("find_runs", prefix=typed.lower())
    if not candidates and len(typed) >= SHORTEST_PREFIX:
        candidates = session.ask("find_runs_of_trace", prefix=typed.lower())
    if exact or (len(candidates) == 1 and len(typed) >= SHORTEST_PREFIX):
        return str((exact or candidates)[0]["run_id"])
    if len(typed) < SHORTEST_PREFIX:
        raise NotFound(
            f"'{typed}' is too short for a run: give {SHORTEST_PREFIX} or more characters of its id, or 'last'."
        )
    if candidates:
        more = "" if len(candidates) < 12 else "\n…"
        listed = "\n".join(describe(session, run) for run in candidates)
        raise NotFound(f"'{typed}' could be any of these runs; give more characters:\n{listed}{more}")
    raise _unknown(session, typed)


def _unknown(session: Session, typed: str) -> NotFound:
    if (gone := session.one("deleted_runs", prefix=typed)) is not None:
        at = session.zone.listed(moment_of(gone, "deleted_at"), session.now)
        return NotFound(
            f"run {safe(str(gone['run_id']))} was deleted ({at}) under the rule '{safe(str(gone['rule']))}': "
            f"receipt {gone['number']} of log {gone['log']} in retention_log."
        )
    near = session.ask("nearest_runs", typed=typed)
    if not near:
        return NotFound(f"no run starts with '{typed}': {session.warehouse.address} has no runs yet.")
    held = counted(whole(near[0], "total") or 0, "run")
    listed = "\n".join(describe(session, run) for run in near)
    return NotFound(
        f"no run starts with '{typed}' among {held} in {session.warehouse.address}. Nearest:\n{listed}\n"
        f"Sent just now? {being_read(session.warehouse.health()) or 'A run shows up a few seconds after it was sent.'}"
    )


def split_step(typed: str) -> tuple[str, int | None]:
    """`RUN/N` as (RUN, N); anything else as (itself, None)."""
    run, slash, step = typed.rpartition("/")
    if slash and run and step.isascii() and step.isdigit():
        return run, int(step)
    return typed, None


def find_step(session: Session, typed: str, *, shows_it: bool = False) -> tuple[str, int | None]:
    """Return the run and step that `RUN` or `RUN/N` names; `shows_it` is as for `find_run`."""
    run, step = split_step(typed)
    try:
        found = find_run(session, run, shows_it=shows_it)
        return (found, None) if found == typed else (found, step)
    except NotFound:
        # Run ids that agents choose themselves may hold a slash.
        if step is not None and any(
            found["run_id"] == typed for found in session.ask("find_runs", prefix=typed)
        ):
            return typed, None
        raise


def find_reference(session: Session, typed: str) -> str:
    """Return the reference `kind:id` that REF means; runs inside `run:` and `step:` may be prefixes too."""
    kind, colon, rest = typed.partition(":")
    if colon and kind in REFERENCE_KINDS:
        if kind == "run":
            return run_ref(find_run(session, unquote(rest)))
        if kind == "step":
            run, step = split_step(rest)
            if step is None:
                raise NotFound(f"'{typed}' is not a step: use step:RUN/N or RUN/N.")
            return step_ref(find_run(session, unquote(run)), step)
        if kind == "entity":
            return entity_ref(*find_entity(session, typed, "trace"))
        return f"message:{find_message(session, rest)}" if kind == "message" else typed
    run, step = find_step(session, typed)
    return run_ref(run) if step is None else step_ref(run, step)


def unknown_reference(session: Session, typed: str, ref: str) -> NotFound:
    """Return the words for a reference that nothing stored has; `typed` is how it was asked for."""
    kind, _, rest = ref.partition(":")
    if kind == "entity":
        return unknown_entity(session, typed)
    if kind == "step":
        run, step = split_step(rest)
        row = session.run(unquote(run, errors="surrogateescape")) or {}
        held = f": it has {counted(whole(row, 'steps') or 0, 'step')}" if row else ""
        return NotFound(f"run {short(unquote(run))} has no step {step}{held}.")
    return NotFound(
        f"nothing is known of {typed}: nothing stored in {session.warehouse.address} has that reference.\n"
        f"References are kind:id ({', '.join(REFERENCE_KINDS)})."
    )


def find_message(session: Session, typed: str) -> str:
    """Return the hash of the message that a prefix of it means."""
    if len(typed) >= MESSAGE_HASH:
        return typed
    if len(typed) < SHORTEST_PREFIX:
        raise NotFound(
            f"'message:{typed}' is too short: give {SHORTEST_PREFIX} or more characters of the hash."
        )
    found = [str(row["message_hash"]) for row in session.ask("find_messages", prefix=typed.lower())]
    if len(found) == 1:
        return found[0]
    if found:
        listed = "\n".join(f"message:{message}" for message in found)
        raise NotFound(f"'message:{typed}' could be any of these; give more characters:\n{listed}")
    raise NotFound(f"no message's hash starts with '{typed}' in {session.warehouse.address}.")


def step_address(run_id: str, step: object) -> str:
    """`4bf92f35/6`, as every command takes it."""
    return f"{short(run_id)}/{step}"
