"""The interface of a warehouse for loader, interpreter, SQL port and commands: it opens connections."""

from __future__ import annotations

from typing import Protocol

from retrospan.schemas.engines import Form
from retrospan.schemas.store import Settings, Store


class Warehouse(Protocol):
    """One ClickHouse. Safe to share between threads; the stores it gives are not."""

    @property
    def form(self) -> Form:
        """How its tables are made."""
        ...

    def connect(self, limits: Settings | None = None) -> Store:
        """Open a connection with the database in use; `limits` are settings of this connection.

        Raises:
            WarehouseUnavailable: it does not answer now.
        """
        ...

    def close(self) -> None:
        """Close every connection still open. Safe to call twice."""
        ...
