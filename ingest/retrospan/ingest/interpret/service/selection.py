"""What a rebuild is asked to read again: everything, or the runs that fit all of some conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from retrospan.ingest.interpret.service.run_queue import Touched
from retrospan.ingest.interpret.sql import load
from retrospan.schemas.errors import BadRequest
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Conditions on runs as they were last read; '' and 0 ask for nothing. Times are Unix nanoseconds."""

    run: str = ""
    """The run's id."""
    version: str = ""
    """The version of the interpretation that read it."""
    dialect: str = ""
    """An instrumentation that described it."""
    since: int = 0
    """It started then or later."""
    until: int = 0
    """It started before."""

    @classmethod
    def of(cls, arguments: Mapping[str, object]) -> Selection:
        """Read the arguments of the command.

        Raises:
            BadRequest: one is unknown, or a value is not of its type.
        """
        defaults = {field.name: field.default for field in fields(cls)}
        for name, value in arguments.items():
            if name not in defaults:
                raise BadRequest(f"rebuild does not take '{name}'. It takes: {', '.join(defaults)}.")
            if type(value) is not type(defaults[name]) or (isinstance(value, int) and value < 0):
                kind = "a text" if isinstance(defaults[name], str) else "Unix nanoseconds"
                raise BadRequest(f"rebuild: '{name}' is {value!r}: give {kind}.")
        return cls(**arguments)  # type: ignore[arg-type]  # each was looked at above

    def traces(self, store: Store) -> list[Touched]:
        """Return the traces to read, oldest records first."""
        if self == EVERYTHING:
            return typed_rows(store, Touched, load("traces_all"))
        asked = {field.name: getattr(self, field.name) for field in fields(self)}
        return typed_rows(store, Touched, load("traces_chosen"), asked)


EVERYTHING = Selection()
