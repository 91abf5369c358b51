"""Pieces of statements for an embedded ClickHouse: settings. Pure."""

from __future__ import annotations

import re

from retrospan.schemas.errors import SqlError
from retrospan.schemas.literals import literal
from retrospan.schemas.store import Settings

_SETTING_NAME = re.compile(r"[a-z][a-z0-9_]*")


def settings_list(settings: Settings) -> str:
    """`name = value, …`. Names come from our own code; a value that is text is quoted."""
    parts: list[str] = []
    for name, value in settings.items():
        if not _SETTING_NAME.fullmatch(name):
            raise SqlError(f"{name!r} is not a setting name.")
        parts.append(f"{name} = {literal(value)}")
    return ", ".join(parts)
