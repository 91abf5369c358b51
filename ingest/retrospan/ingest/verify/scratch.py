"""A temporary database in memory, where the views that load records decode them again."""

from __future__ import annotations

import json
import secrets
from types import TracebackType
from typing import Self

from retrospan.ingest.load.batches import Content
from retrospan.ingest.load.landing import insert_content
from retrospan.ingest.load.quarantine import insert_piecemeal
from retrospan.ingest.verify.differences import Row
from retrospan.ingest.verify.sql import load
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import OutOfMemory, SqlError
from retrospan.schemas.migrate import DATABASE, shipped
from retrospan.schemas.store import Parameters, Settings, Store

SCRATCH = "retrospan_verify"
#: Tables that the views fill from the log.
SENT = ("raw_spans", "raw_logs", "raw_rejects", "arrivals", "run_marks", "receipts")
#: Tables that are filled as well, and say nothing that the others do not.
_FILLED = ("processes", "raw_resent")
_VIEW, _FROM_LANDING = "CREATE MATERIALIZED VIEW", ("_from_landing_view", "_from_landing_spans_view")
_EXACT: Settings = {"output_format_json_quote_64bit_integers": 0, "output_format_json_validate_utf8": 0}


class Scratch:
    """The database, made at the beginning and dropped at the end. Belongs to one thread.

    `store` is a connection whose tables are those of the scratch database. The key of its row hashes is drawn anew each
    time: nobody can have made a row beforehand whose hash is that of another.
    """

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self.store: Store = warehouse.connect()
        self.key = {"k0": secrets.randbits(63), "k1": secrets.randbits(63)}
        self._token = secrets.token_hex(8)
        self._fills = 0

    def __enter__(self) -> Self:
        try:
            self._drop()
            self.store.command(load("create_scratch"), {"scratch": SCRATCH})
            self.store.command(load("use_scratch"), {"scratch": SCRATCH})
            for name in ("create_landing", "create_landing_spans"):
                self.store.command(load(name), {"main": DATABASE})
            for table in (*SENT, *_FILLED):
                self.copy_table(table)
            for _, name, statement in shipped():
                if _VIEW in statement and name.endswith(_FROM_LANDING):
                    self.store.command(statement)
            for name in (
                "create_stored",
                "create_sent_rejects",
                "create_stored_rejects",
                "create_stored_arrivals",
            ):
                self.store.command(load(name), {"main": DATABASE})
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def copy_table(self, table: str) -> None:
        """Make an empty table in memory with the columns of one of the warehouse."""
        self.store.command(load("copy_table"), {"table": table, "main": DATABASE})

    def fill(self, content: Content) -> set[int]:
        """Make rows of these records, as the loader does; returns the records that cannot be read."""
        self._fills += 1
        if not content.frames:
            return set()
        try:
            insert_content(self.store, content, f"{self._token}-{self._fills}")
        except (SqlError, OutOfMemory):
            unreadable: set[int] = set()
            self.clear()
            # An epoch that no loading has: tokens are never those of an insert that counts.
            insert_piecemeal(self.store, content, 0, lambda sequence, _: unreadable.add(sequence))
            return unreadable
        return set()

    def objects(self, statement: str, parameters: Parameters) -> list[Row]:
        """Run one SELECT; a mapping per row. Text that is not UTF-8 is surrogate-escaped."""
        data = self.store.query(statement, parameters, _EXACT)
        return [json.loads(line) for line in data.decode("utf-8", "surrogateescape").split("\n") if line]

    def clear(self, *tables: str) -> None:
        """Empty the tables that the views fill, or these."""
        for table in tables or (*SENT, *_FILLED):
            self.store.command(load("empty_table"), {"table": table})

    def _drop(self) -> None:
        self.store.command(load("drop_scratch"), {"scratch": SCRATCH})

    def _close(self) -> None:
        try:
            self.store.command(load("use_main"), {"main": DATABASE})
            self._drop()
        finally:
            self.store.close()
