"""Retention's own SQL, one statement per file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def load(name: str) -> str:
    """Return the statement in `sql/NAME.sql`."""
    return (files("retrospan.ingest.verify") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
