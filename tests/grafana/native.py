"""Reads ClickHouse's Native format as the driver of Grafana's data source does, at revision 0: no more types than asked."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

_NUMBERS = {
    "UInt8": "B", "UInt16": "H", "UInt32": "I", "UInt64": "Q", "Int8": "b", "Int16": "h", "Int32": "i", "Int64": "q",
    "Float32": "f", "Float64": "d", "Bool": "?", "DateTime": "I", "DateTime64": "q",
}  # fmt: skip
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Table:
    """All blocks of an answer."""

    names: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)


def decode(data: bytes) -> Table:
    """The answer as a table; fails on whatever is left over or missing."""
    table, at = Table(), _Cursor(data)
    while at.position < len(data):
        width, height = at.number(), at.number()
        columns: list[tuple[str, str, list[Any]]] = []
        for _ in range(width):
            name, kind = at.text(), at.text()
            columns.append((name, kind, at.column(kind, height) if height else []))
        table.names = [name for name, _, _ in columns]
        table.types = [kind for _, kind, _ in columns]
        table.rows += [list(row) for row in zip(*(values for _, _, values in columns), strict=True)]
    return table


class _Cursor:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def take(self, length: int) -> bytes:
        piece = self._data[self.position : self.position + length]
        assert len(piece) == length, "the answer breaks off"
        self.position += length
        return piece

    def number(self) -> int:
        """A number of seven bits a byte."""
        found = shift = 0
        while True:
            byte = self.take(1)[0]
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7

    def text(self) -> str:
        return self.take(self.number()).decode()

    def fixed(self, code: str, height: int) -> list[Any]:
        return list(struct.unpack(f"<{height}{code}", self.take(height * struct.calcsize(code))))

    def column(self, kind: str, height: int) -> list[Any]:
        """The values of one column of one block."""
        name, _, inner = kind.partition("(")
        inner = inner.removesuffix(")")
        if name == "Nullable":
            empty = self.take(height)
            return [
                None if gone else value for gone, value in zip(empty, self.column(inner, height), strict=True)
            ]
        if name == "LowCardinality":
            return self._dictionary(inner)
        if name == "Array":
            ends = self.fixed("Q", height)
            values = self.column(inner, ends[-1])
            return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        if name == "String":
            return [self.text() for _ in range(height)]
        assert name in _NUMBERS, f"no reader for {kind}"
        values = self.fixed(_NUMBERS[name], height)
        if name == "DateTime":
            return [_EPOCH + timedelta(seconds=value) for value in values]
        if name == "DateTime64":
            ticks = 10 ** int(inner.partition(",")[0])
            return [_EPOCH + timedelta(seconds=value / ticks) for value in values]
        return values

    def _dictionary(self, inner: str) -> list[Any]:
        """Keys, and for each row which of them it has; the first key of a nullable one stands for NULL."""
        assert self.fixed("Q", 1) == [1], "the version of the dictionary"
        (kind,) = self.fixed("Q", 1)
        (count,) = self.fixed("Q", 1)
        nullable = inner.startswith("Nullable(")
        keys = self.column(inner.removeprefix("Nullable(").removesuffix(")") if nullable else inner, count)
        if nullable:
            keys[0] = None
        (height,) = self.fixed("Q", 1)
        return [keys[index] for index in self.fixed("BHIQ"[kind & 0xFF], height)]
