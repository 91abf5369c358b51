"""A connection to the embedded engine that tells of each insert."""

from __future__ import annotations

from collections.abc import Iterable

from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas.store import Settings


class WatchedStore(EmbeddedStore):
    """Says which table an insert is into as it begins and when it has ended."""

    def begins(self, table: str) -> None:
        """Nothing of it is written yet."""

    def ended(self, table: str) -> None:
        """Its rows are there."""

    def insert(
        self,
        statement: str,
        data: bytes | Iterable[bytes],
        input_format: str,
        settings: Settings | None = None,
    ) -> None:
        table = statement.split()[2]
        self.begins(table)
        super().insert(statement, data, input_format, settings)
        self.ended(table)
