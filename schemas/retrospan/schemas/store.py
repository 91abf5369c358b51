"""The interface of ClickHouse for the rest of Retrospan, embedded or not."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

Parameters = Mapping[str, str | int | float | bool | Sequence[str] | Sequence[int]]
Settings = Mapping[str, str | int]

#: Settings with which rows are rendered as JSON that reads back exactly: 64-bit integers as numbers, tuples as lists.
ROW_SETTINGS: Settings = {
    "output_format_json_quote_64bit_integers": 0,
    "output_format_json_named_tuples_as_objects": 0,
    "output_format_json_validate_utf8": 0,
}


def read_rows(data: bytes) -> Iterator[list[Any]]:
    """Yield the rows in what an engine wrote as JSONCompactEachRow; text that is not UTF-8 is surrogate-escaped.

    Line by line: there may be hundreds of megabytes, and they are in memory once already.
    """
    # Split at the newline alone: JSON escapes it, and other line ends may stand inside strings.
    for line in io.BytesIO(data):
        if text := line.decode("utf-8", "surrogateescape").strip("\n"):
            # The engine's columns have known types, JSON has not: each row is taken at its word.
            yield cast("list[Any]", json.loads(text))


class Escaped(str):
    """A parameter that is already written as ClickHouse reads one: passed to the engine as it is.

    Clients of the SQL port send their parameters so; for arrays and maps there is nothing to undo first.
    """

    __slots__ = ()


class Store(Protocol):
    """One connection. Not shared between threads; readers and writers never share one.

    Every method raises SqlError when the engine refuses the statement and WarehouseUnavailable when it cannot
    be reached. Values travel as `{name:Type}` parameters, never inside the statement.
    """

    longest_parameter: int = 16 << 20
    """Characters that one parameter may have."""

    def keep(self, settings: Settings) -> None:
        """Set these for every further statement of this connection."""
        ...

    def command(
        self, statement: str, parameters: Parameters | None = None, settings: Settings | None = None
    ) -> None:
        """Run one statement that returns nothing."""
        ...

    def query(
        self,
        statement: str,
        parameters: Parameters | None = None,
        settings: Settings | None = None,
        output_format: str = "JSONEachRow",
    ) -> bytes:
        """Run one SELECT and return its result as ClickHouse renders it in the format."""
        ...

    def write(
        self,
        descriptor: int,
        statement: str,
        parameters: Parameters | None = None,
        output_format: str = "TabSeparated",
    ) -> None:
        """Run one SELECT and write its result to the descriptor of a pipe, block by block as it is made.

        The reader of the pipe must read until its end: a writer that waits for a reader cannot be stopped.
        """
        ...

    def stopper(self) -> Callable[[], None]:
        """Make it possible to stop what this connection will be asked, and return what does so: from any thread, and
        again as long as the statement runs. To be called before the connection may only read."""
        ...

    def rows(
        self, statement: str, parameters: Parameters | None = None, settings: Settings | None = None
    ) -> list[list[object]]:
        """Run one SELECT; a list per row, in column order, as JSON reads it (64-bit integers as int, tuples as lists).

        Text that is not UTF-8 is surrogate-escaped.
        """
        asked = {**ROW_SETTINGS, **(settings or {})}
        data = self.query(statement, parameters, asked, "JSONCompactEachRow")
        return list(read_rows(data))

    def insert(
        self,
        statement: str,
        data: bytes | Iterable[bytes],
        input_format: str,
        settings: Settings | None = None,
    ) -> None:
        """Run `INSERT INTO … ` (without FORMAT) with the data. Returns once ClickHouse has the rows.

        Protobuf may come in pieces, of which one is held at a time where that is possible. What they raise is raised, and
        the statement is refused: no row of a block that was not complete by then is kept.
        """
        ...

    def close(self) -> None:
        """Close the connection. Safe to call twice."""
        ...
