"""Writes rows that are dataclasses: the fields, in order, are the columns of the table.

None is written as NULL. Columns of DateTime64 take Unix nanoseconds, exactly; what lies outside 1970 to 2262
becomes the nearest end. Text may hold surrogate escapes.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from retrospan.ingest.warehouse.native_columns import (
    Cell,
    Values,
    join_block,
    kind_of,
    split_block,
    text_bytes,
    varint,
    with_length,
)
from retrospan.schemas.errors import SqlError
from retrospan.schemas.store import Settings, Store

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: The type of each column by its name, as the engine calls it.
Types = Mapping[str, str]

_SETTINGS: Settings = {"async_insert": 0}
#: A block is encoded whole: of so many rows at a time, and of fewer where they are large.
_BLOCK_ROWS = 8192


@dataclass(frozen=True, slots=True)
class Encoded:
    """Rows of one table as the engine reads them: blocks of the format Native."""

    table: str
    data: bytes

    def without(self, keys: Iterable[tuple[str, ...]]) -> Encoded:
        """Return the rows that do not begin with one of these: with the values of some columns, which hold texts."""
        gone = {tuple(with_length(text_bytes(text)) for text in key) for key in keys}
        sizes = {len(key) for key in gone}

        def stays(row: tuple[Cell, ...]) -> bool:
            return not any(row[:size] in gone for size in sizes)

        at, blocks = 0, list[bytes]()
        while at < len(self.data):
            heads, rows, at = split_block(self.data, at)
            if kept := [row for row in rows if stays(row)]:
                blocks.append(join_block(heads, kept))
        return replace(self, data=b"".join(blocks))


def insert_rows(
    store: Store, table: str, rows: Sequence[DataclassInstance], settings: Settings | None = None
) -> None:
    """Insert all rows, which are of one class, in one statement; they are all there when this returns.

    Raises SqlError when the table refuses them; then none is written.
    """
    if rows:
        insert_encoded(store, encode_rows(table, rows, column_types(store, table)), settings)


def column_types(store: Store, table: str) -> dict[str, str]:
    """Return the types of a table's columns."""
    if not table.isidentifier():
        raise SqlError(f"{table!r} is not a table name.")
    return {str(name): str(kind) for name, kind, *_ in store.rows(f"DESCRIBE TABLE {table}")}


def encode_rows(table: str, rows: Sequence[DataclassInstance], types: Types) -> Encoded:
    """Return rows of one class ready to be inserted; pure.

    Raises SqlError where a row does not fit the types of the table's columns.
    """
    (encoded,) = encode_in_pieces(table, rows, types, sys.maxsize)
    return encoded


def encode_in_pieces(
    table: str, rows: Sequence[DataclassInstance], types: Types, size: int
) -> Iterator[Encoded]:
    """Yield rows of one class ready to be inserted, in pieces of about `size` bytes; pure.

    A row that is longer is a piece of its own. Raises SqlError as `encode_rows` does.
    """
    names = tuple(field.name for field in fields(rows[0]))
    for name in names:
        if name not in types:
            raise SqlError(f"The table {table} has no column {name!r}.")
    values_of = attrgetter(*names)  # a tuple: no table has a single column
    held, length = list[bytes](), 0
    for begin in range(0, len(rows), _BLOCK_ROWS):
        columns = [*zip(*map(values_of, rows[begin : begin + _BLOCK_ROWS]), strict=True)]
        for block in _blocks(table, dict(zip(names, columns, strict=True)), types, size):
            if held and length + len(block) > size:
                yield Encoded(table, b"".join(held))
                held, length = [], 0
            held.append(block)
            length += len(block)
    yield Encoded(table, b"".join(held))


def insert_encoded(store: Store, rows: Encoded, settings: Settings | None = None) -> None:
    """Insert encoded rows in one statement; they are all there when this returns."""
    # Blocks name their columns. Naming them here as well costs a seventh of an insert of a few rows.
    store.insert(f"INSERT INTO {rows.table}", rows.data, "Native", {**_SETTINGS, **(settings or {})})


def _blocks(table: str, columns: Mapping[str, Values], types: Types, size: int) -> Iterator[bytes]:
    """Yield the rows as blocks of about that size at most."""
    rows = len(next(iter(columns.values())))
    try:
        is_small = rows == 1 or sum(kind_of(types[name]).weigh(columns[name]) for name in columns) <= size
    except (TypeError, AttributeError):
        is_small = True  # encoding says which column it is
    if is_small:
        yield _block(table, columns, types, rows)
        return
    for half in (slice(rows // 2), slice(rows // 2, None)):
        yield from _blocks(table, {name: values[half] for name, values in columns.items()}, types, size)


def _block(table: str, columns: Mapping[str, Values], types: Types, rows: int) -> bytes:
    parts = [varint(len(columns)), varint(rows)]
    for name, values in columns.items():
        kind = kind_of(types[name])
        try:
            encoded = kind.encode(values)
        except (TypeError, AttributeError, struct.error, OverflowError) as cause:
            raise SqlError(
                f"A value of the column {name} of {table} is not of its type, {types[name]}: {cause}"
            ) from cause
        parts += with_length(name.encode()), with_length(kind.wire.encode()), encoded
    return b"".join(parts)
