"""Columns in ClickHouse's format Native: the values of one column after the other, as the engine keeps them in memory.

Reading it takes the engine a tenth of what JSON takes. What a type needs is written down once for each kind of type. Where
the engine keeps a dictionary (LowCardinality) or a decimal number, the values are sent as plain texts, and it converts
them. Pure.

https://clickhouse.com/docs/interfaces/formats/Native
"""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from itertools import accumulate, chain, pairwise
from typing import Any

from retrospan.schemas.errors import SqlError

#: The values of a column are of whatever class the row's field is; what does not fit raises.
Values = Sequence[Any]
#: One value as it is encoded, whole or, where its parts lie apart, in parts.
Cell = Any

_NUMBERS = {
    "Bool": "B",
    "UInt8": "B",
    "UInt16": "H",
    "UInt32": "I",
    "UInt64": "Q",
    "Int8": "b",
    "Int16": "h",
    "Int32": "i",
    "Int64": "q",
    "Float32": "f",
    "Float64": "d",
}
_LAST_NANOSECOND = 2**63 - 1
_AROUND = re.compile(r"(\w+)\((.*)\)", re.DOTALL)


def varint(number: int) -> bytes:
    """Return a length as the engine reads it: seven bits to a byte, the lowest first."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


_LENGTHS = [varint(length) for length in range(1 << 12)]


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the length that begins there, and where it ends."""
    number = shift = 0
    while data[at] & 0x80:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
    return number | data[at] << shift, at + 1


def text_bytes(text: str) -> bytes:
    """Surrogate escapes become the bytes they stand for; other halves of surrogate pairs have none and are replaced."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def with_length(data: bytes) -> bytes:
    """Return a text as it stands in a column."""
    return (_LENGTHS[len(data)] if len(data) < len(_LENGTHS) else varint(len(data))) + data


class Kind(ABC):
    """How the values of a type are written. `wire` is the type that they have on their way."""

    wire: str
    filler: object = 0
    """What stands where there is NULL."""

    @abstractmethod
    def encode(self, values: Values) -> bytes:
        """Return the values as they stand in a block. Raises whatever Python does for a value of another class."""

    @abstractmethod
    def weigh(self, values: Values) -> int:
        """Return about how many bytes that will be."""

    @abstractmethod
    def split(self, data: bytes, at: int, rows: int) -> tuple[list[Cell], int]:
        """Return each of so many values, encoded, that begin there, and where they end."""

    @abstractmethod
    def join(self, cells: Iterable[Cell]) -> bytes:
        """Return such values as they stand in a block."""


class Texts(Kind):
    """String, and what is sent as one."""

    wire = "String"
    filler = ""

    def encode(self, values: Values) -> bytes:
        # Most columns repeat what they say, and hashing is quicker than encoding.
        different = dict.fromkeys(values)
        try:
            encoded = [*map(str.encode, different)]
        except UnicodeEncodeError:
            encoded = [*map(text_bytes, different)]
        made = dict(zip(different, map(with_length, encoded), strict=True))
        return b"".join([made[value] for value in values])

    def weigh(self, values: Values) -> int:
        return sum(map(len, values)) + len(values)

    def split(self, data: bytes, at: int, rows: int) -> tuple[list[Cell], int]:
        cells = list[Cell]()
        for _ in range(rows):
            length, begin = read_varint(data, at)
            cells.append(data[at : begin + length])
            at = begin + length
        return cells, at

    def join(self, cells: Iterable[Cell]) -> bytes:
        return b"".join(cells)


class Decimals(Texts):
    """Decimal numbers, as texts."""

    filler = "0"


class Numbers(Kind):
    """Numbers and truth values of a fixed width."""

    def __init__(self, wire: str, code: str) -> None:
        self.wire = wire
        self._code = code
        self._width = struct.calcsize(f"<{code}")

    def encode(self, values: Values) -> bytes:
        return struct.pack(f"<{len(values)}{self._code}", *values)

    def weigh(self, values: Values) -> int:
        return len(values) * self._width

    def split(self, data: bytes, at: int, rows: int) -> tuple[list[Cell], int]:
        end = at + rows * self._width
        return [data[begin : begin + self._width] for begin in range(at, end, self._width)], end

    def join(self, cells: Iterable[Cell]) -> bytes:
        return b"".join(cells)


class Times(Numbers):
    """DateTime64 in nanoseconds since 1970; what lies outside 1970 to 2262 becomes the nearest end."""

    def __init__(self, wire: str) -> None:
        super().__init__(wire, "q")

    def encode(self, values: Values) -> bytes:
        return super().encode([min(max(value, 0), _LAST_NANOSECOND) for value in values])


class Optionals(Kind):
    """Nullable: which of the values are NULL, then all of them."""

    def __init__(self, of: Kind) -> None:
        self.wire = f"Nullable({of.wire})"
        self._of = of

    def encode(self, values: Values) -> bytes:
        nulls = bytes([value is None for value in values])
        if 1 not in nulls:
            return nulls + self._of.encode(values)
        filler = self._of.filler
        return nulls + self._of.encode([filler if value is None else value for value in values])

    def weigh(self, values: Values) -> int:
        return len(values) + self._of.weigh([value for value in values if value is not None])

    def split(self, data: bytes, at: int, rows: int) -> tuple[list[Cell], int]:
        nulls = [data[place : place + 1] for place in range(at, at + rows)]
        cells, end = self._of.split(data, at + rows, rows)
        return [*zip(nulls, cells, strict=True)], end

    def join(self, cells: Iterable[Cell]) -> bytes:
        cells = [*cells]
        return b"".join([null for null, _ in cells]) + self._of.join([cell for _, cell in cells])


class Lists(Kind):
    """Array: where each ends, then the elements of all. Sets are sorted."""

    filler = ()

    def __init__(self, of: Kind) -> None:
        self.wire = f"Array({of.wire})"
        self._of = of

    def encode(self, values: Values) -> bytes:
        lists = [sorted(value) if isinstance(value, set | frozenset) else value for value in values]
        return _ends(lists) + self._of.encode([*chain.from_iterable(lists)])

    def weigh(self, values: Values) -> int:
        return 8 * len(values) + self._of.weigh([*chain.from_iterable(values)])

    def split(self, data: bytes, at: int, rows: int) -> tuple[list[Cell], int]:
        begin = at + 8 * rows
        ends = struct.unpack(f"<{rows}Q", data[at:begin])
        cells, end = self._of.split(data, begin, ends[-1] if ends else 0)
        return [cells[first:last] for first, last in pairwise((0, *ends))], end

    def join(self, cells: Iterable[Cell]) -> bytes:
        cells = [*cells]
        return _ends(cells) + self._of.join(chain.from_iterable(cells))


class Tuples(Kind):
    """Tuple: each of its elements is a column."""

    def __init__(self, kinds: Sequence[Kind], names: Sequence[str] = ()) -> None:
        self._kinds = kinds
        wires = [kind.wire for kind in kinds]
        named = [f"`{name}` {wire}" for name, wire in zip(names, wires, strict=False)]
        self.wire = f"Tuple({', '.join(named or wires)})"

    def encode(self, values: Values) -> bytes:
        return b"".join(
            [kind.encode([value[place] for value in values]) for place, kind in enumerate(self._kinds)]
        )

    def weigh(self, values: Values) -> int:
        return sum(kind.weigh([value[place] for value in values]) for place, kind in enumerate(self._kinds))

    def split(self, data: bytes, at: int, rows: int) -> tuple[list[Cell], int]:
        columns = list[list[Cell]]()
        for kind in self._kinds:
            cells, at = kind.split(data, at, rows)
            columns.append(cells)
        return [*zip(*columns, strict=True)], at

    def join(self, cells: Iterable[Cell]) -> bytes:
        cells = [*cells]
        return b"".join(
            [kind.join([cell[place] for cell in cells]) for place, kind in enumerate(self._kinds)]
        )


class Maps(Lists):
    """Map: an array of pairs."""

    def __init__(self, keys: Kind, values: Kind) -> None:
        super().__init__(Tuples([keys, values]))
        self.wire = f"Map({keys.wire}, {values.wire})"

    def encode(self, values: Values) -> bytes:
        return super().encode([[*value.items()] for value in values])

    def weigh(self, values: Values) -> int:
        return super().weigh([[*value.items()] for value in values])


def split_block(data: bytes, at: int) -> tuple[list[tuple[bytes, Kind]], list[tuple[Cell, ...]], int]:
    """Return the head and the kind of each column of the block that begins there, its rows, and where it ends."""
    number, at = read_varint(data, at)
    count, at = read_varint(data, at)
    heads, columns = list[tuple[bytes, Kind]](), list[list[Cell]]()
    for _ in range(number):
        (name, wire), at = Texts().split(data, at, 2)
        kind = kind_of(wire[read_varint(wire, 0)[1] :].decode())
        heads.append((name + wire, kind))
        cells, at = kind.split(data, at, count)
        columns.append(cells)
    return heads, [*zip(*columns, strict=True)], at


def join_block(heads: Sequence[tuple[bytes, Kind]], rows: Sequence[tuple[Cell, ...]]) -> bytes:
    """Return a block of such rows."""
    parts = [head + kind.join([row[place] for row in rows]) for place, (head, kind) in enumerate(heads)]
    return b"".join([varint(len(heads)), varint(len(rows)), *parts])


def _ends(values: Sequence[Collection[Any]]) -> bytes:
    return struct.pack(f"<{len(values)}Q", *accumulate(map(len, values)))


@cache
def kind_of(name: str) -> Kind:
    """Return how the values of a type are written, by the name that the engine gives it.

    Raises:
        SqlError: no row of ours has a column of that type.
    """
    if name == "String":
        return Texts()
    if name in _NUMBERS:
        return Numbers(name, _NUMBERS[name])
    found = _AROUND.fullmatch(name)
    around, inner = found.groups() if found is not None else ("", "")
    match around:
        case "LowCardinality":
            return kind_of(inner)
        case "Decimal":
            return Decimals()
        case "DateTime64" if inner.startswith("9"):
            return Times(name)
        case "Nullable":
            return Optionals(kind_of(inner))
        case "Array":
            return Lists(kind_of(inner))
        case "Map":
            return Maps(*map(kind_of, _parts(inner)))
        case "Tuple":
            return _tuples(_parts(inner))
        case _:
            raise SqlError(f"No row has a column of the type {name!r}.")


def _tuples(parts: Sequence[str]) -> Kind:
    """Elements have names in all places or in none."""
    named = [found for part in parts if (found := re.fullmatch(r"`?(\w+)`? (.+)", part, re.DOTALL))]
    if len(named) < len(parts):
        return Tuples([*map(kind_of, parts)])
    return Tuples([kind_of(part[2]) for part in named], [part[1] for part in named])


def _parts(text: str) -> list[str]:
    """Return what stands between the commas that no brackets surround."""
    depth, begin, found = 0, 0, list[str]()
    for place, mark in enumerate(text):
        depth += (mark == "(") - (mark == ")")
        if mark == "," and depth == 0:
            found.append(text[begin:place].strip())
            begin = place + 1
    return [*found, text[begin:].strip()]
