"""Aligned tables and key: value blocks.

Ids, times, statuses and numbers never shrink; text columns share what is left and are cut with a mark. When even
that is too wide the least important columns go, and their names are listed. Under 60 columns rows become blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from retrospan.ingest.cli.terminal.screen import Part, Screen, Style
from retrospan.ingest.cli.terminal.text import cells, cut, pad, safe, safe_lines, wrap

GAP = "  "
BLOCK_BELOW = 60
_NARROWEST = 12


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `priority` 0 never goes; higher numbers go first. `text` columns may be cut."""

    heading: str
    text: bool = False
    right: bool = False
    priority: int = 0
    style: Callable[[str], Style] | Style = ""
    limit: int | None = None  # cells on a terminal; for names, which agents choose

    def styled(self, value: str) -> Style:
        return self.style(value) if callable(self.style) else self.style


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table, which of them are shown, by their places, and how wide these are in cells."""

    columns: Sequence[Column]
    shown: list[int]
    widths: dict[int, int]

    @property
    def hidden(self) -> list[str]:
        """The headings of those that are not shown."""
        return [column.heading for i, column in enumerate(self.columns) if i not in self.shown]


def show_table(
    screen: Screen, columns: Sequence[Column], rows: Sequence[Sequence[str]], *, heading: bool = True
) -> None:
    """Write the rows under their headings, as wide as the screen allows; without `heading` a table goes on."""
    if screen.width is not None and screen.width < BLOCK_BELOW:
        _show_blocks(screen, columns, [[safe(value) for value in row] for row in rows])
        return
    layout = lay_out(screen, columns, rows)
    if heading:
        show_headings(screen, layout)
    show_rows(screen, layout, rows)
    if layout.hidden and heading:
        screen.note(("not shown, too wide: " + ", ".join(layout.hidden) + " (--wide shows them)", "dim"))


def lay_out(screen: Screen, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Layout:
    """Return the columns as wide as the rows need and the screen allows."""
    natural = [_natural(screen, column, [safe(row[i]) for row in rows]) for i, column in enumerate(columns)]
    return Layout(columns, *_fit(columns, natural, screen.width))


def show_headings(screen: Screen, layout: Layout) -> None:
    """Write the line of headings."""
    headings = [column.heading for column in layout.columns]
    screen.line((_aligned(layout.columns, headings, layout.shown, layout.widths).rstrip(), "bold"))


def show_rows(screen: Screen, layout: Layout, rows: Iterable[Sequence[str]]) -> None:
    """Write rows, a line each. Where nothing is cut a value longer than its column moves the rest of its line."""
    for row in rows:
        parts: list[Part] = []
        for place, i in enumerate(layout.shown):
            column, width = layout.columns[i], layout.widths[i]
            last = place == len(layout.shown) - 1
            value = cut(safe(row[i]), width if screen.width is not None else None, screen.mark)
            filled = value if last and not column.right else pad(value, width, right=column.right)
            parts.append((filled, column.styled(value)))
            if not last:
                parts.append(GAP)
        screen.line(*parts)


def last_column_width(screen: Screen, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int | None:
    """Return the cells left for the last column when the others are as wide as the rows need; None: any number."""
    if screen.width is None:
        return None
    if screen.width < BLOCK_BELOW:
        return screen.width - max(cells(column.heading) for column in columns) - len(GAP)
    others = [
        _natural(screen, column, [safe(row[i]) for row in rows]) for i, column in enumerate(columns[:-1])
    ]
    return max(screen.width - sum(others) - len(GAP) * len(others), _NARROWEST)


def _natural(screen: Screen, column: Column, values: list[str]) -> int:
    widest = max([cells(column.heading), *(cells(value) for value in values)])
    return widest if column.limit is None or screen.width is None else min(widest, column.limit)


def _aligned(columns: Sequence[Column], values: list[str], shown: list[int], widths: dict[int, int]) -> str:
    return GAP.join(pad(cut(values[i], widths[i]), widths[i], right=columns[i].right) for i in shown)


def _fit(
    columns: Sequence[Column], natural: list[int], width: int | None
) -> tuple[list[int], dict[int, int]]:
    """Return which columns are shown, and how wide each is."""
    shown = list(range(len(columns)))
    if width is None:
        return shown, dict(enumerate(natural))
    while True:
        room = width - len(GAP) * (len(shown) - 1) - sum(natural[i] for i in shown if not columns[i].text)
        texts = [i for i in shown if columns[i].text]
        least = sum(min(natural[i], _NARROWEST) for i in texts)
        droppable = [i for i in shown if columns[i].priority]
        if room >= least or not droppable:
            break
        shown.remove(max(droppable, key=lambda i: (columns[i].priority, i)))
    widths = {i: natural[i] for i in shown}
    # The narrow text columns take what they need, the wide ones share the rest evenly.
    for left, i in zip(range(len(texts), 0, -1), sorted(texts, key=lambda i: natural[i]), strict=True):
        widths[i] = min(natural[i], max(1, room // left))
        room -= widths[i]
    return shown, widths


def _show_blocks(screen: Screen, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    for number, row in enumerate(rows):
        if number:
            screen.line()
        show_pairs(screen, [(c.heading, value) for c, value in zip(columns, row, strict=True)])


def show_pairs(screen: Screen, pairs: Sequence[tuple[str, str]], indent: str = "") -> None:
    """Write `key  value` lines; long values wrap under themselves on a terminal."""
    widest = max((cells(safe(key)) for key, _ in pairs), default=0)
    for key, value in pairs:
        show_wrapped(screen, [indent, (pad(safe(key), widest), "dim"), GAP], value)


def show_wrapped(screen: Screen, lead: list[Part], value: str, style: Style = "") -> None:
    """Write the value after the lead; further lines stand under the first."""
    taken = sum(cells(safe(part[0] if isinstance(part, tuple) else part)) for part in lead)
    room = None if screen.width is None else max(screen.width - taken, 16)
    first = True
    for line in safe_lines(value):
        for piece in wrap(line, room):
            screen.line(*(lead if first else [" " * taken]), (piece, style))
            first = False
    if first:
        screen.line(*lead)
