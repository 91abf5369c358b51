"""Prints the answer to any SQL as a table while it arrives, in an amount of memory that does not grow with the answer."""

from __future__ import annotations

from retrospan.ingest.cli.client.collector_client import Row, RowReading
from retrospan.ingest.cli.terminal.moments import Moment
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.table import Column, Layout, lay_out, show_headings, show_rows, show_table
from retrospan.ingest.cli.terminal.text import counted
from retrospan.ingest.cli.terminal.values import dump

#: A terminal shows so many rows.
TERMINAL_ROWS = 1_000
#: By so many rows it is decided how wide columns are, or by fewer that have so many characters.
ROWS_MEASURED = 10_000
CHARACTERS_MEASURED = 32 << 20
_NUMBERS = (
    "Int",
    "UInt",
    "Float",
    "Decimal",
    "Nullable(Int",
    "Nullable(UInt",
    "Nullable(Float",
    "Nullable(Decimal",
)


class AnswerTable:
    """Give `reading` the answer in pieces, then call `end`.

    A terminal gets the first rows, and how many there are. Elsewhere every row is written, under columns as wide as the
    first of them need: of those that follow a longer value moves the rest of its line.
    """

    def __init__(self, screen: Screen) -> None:
        self.reading = RowReading(self._take)
        self._screen = screen
        self._held: list[list[str]] = []
        self._characters = 0
        self._rows = 0
        self._layout: Layout | None = None

    def end(self) -> None:
        """Write what is not written yet, and how many rows there were."""
        shown = self._rows
        if self._layout is None:
            shown = len(self._held)
            if self._held and self.reading.names:
                show_table(self._screen, self._columns(), self._held)
        said = counted(self._rows, "row")
        if shown < self._rows:
            said = f"{shown:,} of {said}; all: --wide, or --format json"
        self._screen.note((said if self._rows else f"no rows ({', '.join(self.reading.names)})", "dim"))

    def _take(self, row: Row) -> None:
        self._rows += 1
        if self._screen.width is not None:
            if self._rows > TERMINAL_ROWS or self._characters > CHARACTERS_MEASURED:
                return
        elif self._layout is not None:
            show_rows(self._screen, self._layout, [self._cells(row)])
            return
        values = self._cells(row)
        self._held.append(values)
        self._characters += sum(map(len, values))
        if self._screen.width is None and (
            len(self._held) >= ROWS_MEASURED or self._characters > CHARACTERS_MEASURED
        ):
            self._begin()

    def _begin(self) -> None:
        self._layout = lay_out(self._screen, self._columns(), self._held)
        show_headings(self._screen, self._layout)
        show_rows(self._screen, self._layout, self._held)
        self._held = []

    def _cells(self, row: Row) -> list[str]:
        # By names: two columns may have the same.
        return [_cell(row[name]) for name in self.reading.names]

    def _columns(self) -> list[Column]:
        return [
            Column(
                name,
                right=kind.startswith(_NUMBERS),
                text=not kind.startswith((*_NUMBERS, "DateTime", "Bool", "UUID")),
            )
            for name, kind in zip(self.reading.names, self.reading.types, strict=True)
        ]


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, Moment):
        return value.rfc3339()
    if isinstance(value, str):
        return value or '""'
    return dump(value)
