"""Which price tables were in force when: a request is priced by those of its day, even if it is interpreted again.
Pure.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import cast

from retrospan.ingest.prices.price_file import parse_prices
from retrospan.ingest.prices.price_table import PriceTable
from retrospan.schemas.errors import ConfigError

#: Histories that a process has read: the one in force, and the one that is compared with it.
_HISTORIES_KEPT = 4


@dataclass(frozen=True, slots=True)
class PriceHistory:
    """Price tables by the Unix nanoseconds from which they are in force, ascending. Those of one time: the first
    counts.
    """

    adopted: tuple[tuple[int, tuple[PriceTable, ...]], ...] = ()

    def at(self, started_at: int, arrived_at: int) -> tuple[PriceTable, ...]:
        """Return the tables for what started and arrived at these times; before the first there were, those.

        What says that it is of the future is of the time when it arrived, so that no later table can change it.
        """
        if not self.adopted:
            return ()
        time = min(started_at or arrived_at, arrived_at or started_at)
        place = bisect_right(self.adopted, time, key=lambda each: each[0])
        return self.adopted[max(place - 1, 0)][1]


NO_PRICES = PriceHistory()


@lru_cache(_HISTORIES_KEPT)
def unpacked(data: bytes) -> PriceHistory:
    """Return a history that was packed; b'' is none."""
    if not data:
        return NO_PRICES
    found: list[tuple[int, tuple[PriceTable, ...]]] = []
    for at, texts in read_adoptions(zlib.decompress(data).decode(), "prices.jsonl"):
        found.append((at, tuple(_table(text) for text in texts)))
    return PriceHistory(tuple(found))


@lru_cache(16)
def _table(text: str) -> PriceTable:
    return parse_prices(text, "prices.jsonl")


def link_of(before: str, at: int, tables: Sequence[str]) -> str:
    """Return what links an adoption to the one before it, whose link is `before`; '' for the first."""
    return sha256(json.dumps([before, at, *tables]).encode()).hexdigest()


def read_adoptions(text: str, name: str) -> list[tuple[int, list[str]]]:
    """Return the texts of tables by the time from which they are in force; `name` is what errors call what holds them.

    A line with a link vouches for itself and for all before it; one that an earlier release wrote has none.

    Raises ConfigError.
    """
    found: list[tuple[int, list[str]]] = []
    link = ""
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            said = cast("dict[str, object]", json.loads(line))
            at, tables = said["adopted_at"], said["tables"]
            if not isinstance(at, int) or not isinstance(tables, list) or (found and at <= found[-1][0]):
                raise ValueError("not a time after the last, and texts")
            found.append((at, [str(each) for each in cast("list[object]", tables)]))
            link = link_of(link, *found[-1])
            if said.get("link", link) != link:
                raise ValueError("it, or a line before it, is not what was written")
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigError(
                f"{name} line {number} cannot be read: {error}. It says what past runs cost: restore it from a backup, "
                "or remove the file, after which the prices of today apply to what is interpreted again."
            ) from error
    return found
