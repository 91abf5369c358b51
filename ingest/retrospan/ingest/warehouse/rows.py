"""Writes rows that are dataclasses: the fields, in order, are the columns of the table.

None is written as NULL. Columns of DateTime64 take Unix nanoseconds, exactly; what lies outside 1970 to 2262
becomes the nearest end. Text may hold surrogate escapes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from retrospan.schemas.errors import SqlError
from retrospan.schemas.json_encoding import json_encoder
from retrospan.schemas.store import Settings, Store

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_SETTINGS: Settings = {"async_insert": 0, "input_format_null_as_default": 0}
_LAST_NANOSECOND = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Encoded:
    """Rows of one table as the engine reads them."""

    table: str
    columns: tuple[str, ...]
    data: bytes

    def without(self, keys: Iterable[tuple[str, ...]]) -> Encoded:
        """Return the rows that do not begin with one of these: with the values of some columns, but not of all."""
        beginnings = tuple(_bytes(_ENCODE([*key])[:-1] + ",") for key in keys)
        # Line ends inside values are escaped.
        kept = (line for line in self.data.split(b"\n") if not line.startswith(beginnings))
        return replace(self, data=b"\n".join(kept))


def insert_rows(
    store: Store, table: str, rows: Sequence[DataclassInstance], settings: Settings | None = None
) -> None:
    """Insert all rows, which are of one class, in one statement; they are all there when this returns.

    Raises SqlError when the table refuses them; then none is written.
    """
    if rows:
        insert_encoded(store, encode_rows(table, rows, time_columns(store, table)), settings)


def time_columns(store: Store, table: str) -> frozenset[str]:
    """Return the names of the columns that take nanoseconds."""
    if not table.isidentifier():
        raise SqlError(f"{table!r} is not a table name.")
    return frozenset(
        str(name) for name, kind, *_ in store.rows(f"DESCRIBE TABLE {table}") if "DateTime64" in str(kind)
    )


def encode_rows(table: str, rows: Sequence[DataclassInstance], timed: frozenset[str]) -> Encoded:
    """Return rows of one class ready to be inserted; pure. `timed` are the columns that take nanoseconds."""
    (encoded,) = encode_in_pieces(table, rows, timed, sys.maxsize)
    return encoded


def encode_in_pieces(
    table: str, rows: Sequence[DataclassInstance], timed: frozenset[str], size: int
) -> Iterator[Encoded]:
    """Yield rows of one class ready to be inserted, in pieces of about `size` characters; pure.

    A row that is longer is a piece of its own.
    """
    names = tuple(field.name for field in fields(rows[0]))
    values_of = attrgetter(*names)  # a tuple: no table has a single column
    times = [place for place, name in enumerate(names) if name in timed]
    lines: list[str] = []
    length = 0
    for row in rows:
        values = [*values_of(row)]
        for place in times:
            values[place] = _time(values[place])
        line = _ENCODE(values)
        length += len(line)
        if lines and length > size:
            yield Encoded(table, names, _bytes("\n".join([*lines, ""])))
            lines, length = [], len(line)
        lines.append(line)
    yield Encoded(table, names, _bytes("\n".join([*lines, ""])))


def insert_encoded(store: Store, rows: Encoded, settings: Settings | None = None) -> None:
    """Insert encoded rows in one statement; they are all there when this returns."""
    store.insert(
        f"INSERT INTO {rows.table} ({', '.join(rows.columns)})",
        rows.data,
        "JSONCompactEachRow",
        {**_SETTINGS, **(settings or {})},
    )


def _bytes(text: str) -> bytes:
    """Surrogate escapes become the bytes they stand for; other halves of surrogate pairs have none and are replaced."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _time(nanoseconds: int | None) -> str | None:
    """Return seconds with nine decimals: a bare whole number would be read as seconds."""
    if nanoseconds is None:
        return None
    seconds, rest = divmod(min(max(nanoseconds, 0), _LAST_NANOSECOND), 1_000_000_000)
    return f"{seconds:010d}.{rest:09d}"


def _list(value: object) -> object:
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise SqlError(f"A value of type {type(value).__name__} cannot be stored in a row.")


_ENCODE = json_encoder(sort_keys=False, allow_nan=True, default=_list)
