"""What is sent with a statement to a server: its parameters, and the schema of an insert."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

from retrospan.schemas.literals import parameter_text
from retrospan.schemas.store import Parameters, Settings

_PLACE = re.compile(r"\{(\w+):[^}]+\}")


class _Sent:
    """A parameter as ClickHouse reads one. The client escapes text, but not its tabs and newlines; this it takes as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


def bound(statement: str, parameters: Parameters | None) -> tuple[str, dict[str, _Sent] | None]:
    """Return a statement and its parameters as the client takes them.

    Where the client finds no `{name:Type}` it would write the values into the statement, at each `%(name)s`: so none is
    given that has no place.
    """
    text = statement.rstrip().rstrip(";")
    places = {found[1] for found in _PLACE.finditer(text)}
    sent = {
        name: _Sent(parameter_text(value)) for name, value in (parameters or {}).items() if name in places
    }
    return text, sent or None


def schema_settings(settings: Settings, known: Container[str]) -> Settings:
    """Let the schema that an insert names by its path travel with it, or be the one of that name on the server."""
    path, _, message = str(settings.get("format_schema", "")).rpartition(":")
    if not path:
        return settings
    if "format_schema_source" not in known:
        return {**settings, "format_schema": f"{Path(path).name}:{message}"}
    return {
        **settings,
        "format_schema_source": "string",
        "format_schema": _bare(Path(path).read_text(encoding="utf-8")),
        "format_schema_message_name": message,
    }


def _bare(schema: str) -> str:
    """Return a .proto without comments and indentation: it is part of the address."""
    lines = (line.partition("//")[0].strip() for line in schema.splitlines())
    return "\n".join(line for line in lines if line)
