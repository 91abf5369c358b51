"""Puts bytes of the write-ahead log into the raw tables: ClickHouse decodes them itself."""

from __future__ import annotations

from functools import cache
from importlib import resources

from retrospan.ingest.load.sql import load
from retrospan.schemas.store import Settings, Store

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
    settings = {**_SETTINGS, "format_schema": f"{schema_path()}:Record", "insert_deduplication_token": token}
    store.insert("INSERT INTO landing", data, "Protobuf", settings)


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
