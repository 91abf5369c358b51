"""Puts bytes of the write-ahead log into the raw tables: ClickHouse decodes them itself."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources

from retrospan.ingest.load.batches import Content
from retrospan.ingest.load.sql import load
from retrospan.ingest.log.record import holds_only_spans
from retrospan.schemas.store import Settings, Store

#: Where records enter, those that hold spans and nothing else, and all others.
_OF_SPANS, _OF_ANYTHING = "landing_spans", "landing"
#: A record of zero bytes is read as no rows at all.
_EMPTY_RECORD = b"\0"
_SETTINGS: Settings = {
    # Upstream's default is 1 since 26.2; the loader wants the rows written when the insert returns.
    "async_insert": 0,
    "insert_deduplicate": 1,
    # Tells an empty text, 0, false, [] and {} from a value without any member.
    "input_format_protobuf_oneof_presence": 1,
    "output_format_json_escape_forward_slashes": 0,
    # A rebuild inserts the records of many days at once.
    "max_partitions_per_insert_block": 0,
    # The same bytes must become the same blocks, else a repeated token repeats rows until they merge.
    "max_insert_threads": 1,
    # One core for what is stored, the other for what is still coming in.
    "max_threads": 1,
    "parallel_view_processing": 0,
}


def insert_records(store: Store, data: bytes, token: str) -> None:
    """Insert whole records of the log. All of their rows are in the raw tables when this returns.

    Inserting again what is there already adds nothing: the same token is ignored, and rows of the same content
    merge when they are read.

    Args:
        token: names this data; never used for other data.
    Raises:
        SqlError: the engine cannot read the data; some of the tables may have got their rows.
        WarehouseUnavailable: not now.
    """
    _insert(store, _table_for(bool(data) and holds_only_spans(data)), data, token)


def insert_content(store: Store, content: Content, token: str) -> None:
    """Insert the records of a batch, piece by piece. Returns and raises as `insert_records` does.

    Raises LogFailed when the log no longer holds what was hashed.
    """
    _insert(store, _table_for(content.holds_only_spans), content.pieces(), token)


def insert_nothing(store: Store) -> None:
    """Insert a record without rows wherever records enter.

    Raises:
        SqlError: one of the tables, a view or the schema file is not there, or not as it should be.
        WarehouseUnavailable: not now.
    """
    for table in (_OF_SPANS, _OF_ANYTHING):
        _insert(store, table, _EMPTY_RECORD, "nothing")


def _table_for(only_spans: bool) -> str:
    # The engine plans every view over the table it inserts into: over this one there are only those of spans.
    return _OF_SPANS if only_spans else _OF_ANYTHING


def _insert(store: Store, table: str, data: bytes | Iterable[bytes], token: str) -> None:
    settings = {**_SETTINGS, "format_schema": f"{schema_path()}:Record", "insert_deduplication_token": token}
    store.insert(f"INSERT INTO {table}", data, "Protobuf", settings)


@cache
def schema_path() -> str:
    """Return where the installed schema of the log's records lies; absolute, as the engine wants it."""
    return str(resources.files("retrospan.schemas").joinpath("otlp_log.proto"))


def note_stored(store: Store, first: int) -> None:
    """Note the traces of which spans lie there that are about to be loaded again, from record `first` on.

    The engine notes by itself what comes again as another record. Whether the very same row was there before, it sees only
    if what is being inserted is stored by then, and that is not certain. Only an embedded warehouse keeps such notes.
    """
    store.command(load("note_stored_traces"), {"first": first})
