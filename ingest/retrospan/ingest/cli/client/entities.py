"""What users type for entities, TYPE/ID or a reference `entity:TYPE/ID`, turned into a type and an id."""

from __future__ import annotations

from urllib.parse import unquote

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.empty import no_runs_yet
from retrospan.ingest.cli.client.rows import whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import UsageError
from retrospan.ingest.cli.terminal.text import counted, safe
from retrospan.schemas.errors import NotFound


def find_entity(session: Session, typed: str, command: str) -> tuple[str, str]:
    """Return type and id of what was typed. Its parts are percent-encoded in a reference, but lists show them as they
    are: what holds `/` or `%` is taken for the reference that it is if such an entity is stored, else as it is.

    Raises UsageError where it lacks a type or an id.
    """
    kind, slash, name = typed.removeprefix("entity:").partition("/")
    if not slash or not kind or not name:
        raise UsageError(f"'{typed}' is not an entity: give TYPE/ID, such as config/acme-config.", command)
    decoded = unquote(kind), unquote(name)
    if not typed.startswith("entity:") or decoded == (kind, name):
        return kind, name
    return (
        decoded
        if stored_entity(session, *decoded) or not stored_entity(session, kind, name)
        else (kind, name)
    )


def stored_entity(session: Session, kind: str, name: str) -> Row | None:
    """Return what is stored of the entity, None for nothing."""
    known = session.one("find_entity", entity_type=kind, entity_id=name)
    return known if known is not None and whole(known, "said") else None


def unknown_entity(session: Session, typed: str) -> NotFound:
    """Return the words for an entity of which nothing is stored, with the nearest names."""
    near = session.ask("nearest_entities", typed=typed.removeprefix("entity:"))
    if not near:
        if session.one("last_run") is None:
            return NotFound(no_runs_yet(session))
        return NotFound(
            f"nothing is known about {typed}: no agent has stated anything about an entity "
            f"(events retrospan.observation) in {session.warehouse.address}."
        )
    listed = "\n".join(
        safe(f"{row['entity_type']}/{row['entity_id']}")
        + f"  {counted(whole(row, 'said') or 0, 'statement')}"
        for row in near
    )
    total = counted(whole(near[0], "total") or 0, "entity", "entities")
    return NotFound(
        f"nothing is known about {typed} among {total} in {session.warehouse.address}. Nearest:\n{listed}"
    )
