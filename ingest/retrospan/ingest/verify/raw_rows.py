"""Compares raw rows with the log: its records are decoded again, and every stored row must be one of the results.

A slice of the log at a time is decoded by the views that load it, into tables in memory, and compared by the hash of
all columns. What receipts say was deleted, or lost its payload, is taken out of the records before, as retention takes
it out of the archive. A row that merged with a newer copy of the same content is one that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from retrospan.ingest.load.batches import Content, Frame, ReadableLog, next_content
from retrospan.ingest.retention.deletion.archive_compaction import Deleted, cleanser_of
from retrospan.ingest.retention.sql import load as load_of_retention
from retrospan.ingest.verify.differences import Row, differing_columns, paired
from retrospan.ingest.verify.report import MOST_NAMED, VerifiedPart
from retrospan.ingest.verify.scratch import SCRATCH, Scratch
from retrospan.ingest.verify.sql import load
from retrospan.schemas.migrate import DATABASE
from retrospan.schemas.sequences import LOG_SHIFT, base_of
from retrospan.schemas.store import Parameters, Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

SLICE_ITEMS = 10_000
SLICE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Table:
    """A table of raw rows: where it is, where what the log gives of it is, and what names a row to a person."""

    name: str
    database: str
    stored: str
    sent: str
    place: tuple[str, ...]
    by_trace: bool = False
    merges: bool = False


TABLES = (
    Table(
        "raw_spans",
        DATABASE,
        "raw_spans",
        "raw_spans",
        ("tenant", "trace_id", "span_id"),
        by_trace=True,
        merges=True,
    ),
    Table(
        "raw_logs",
        DATABASE,
        "raw_logs",
        "raw_logs",
        ("tenant", "trace_id", "span_id", "time_ns"),
        by_trace=True,
        merges=True,
    ),
    Table("raw_rejects", SCRATCH, "stored_rejects", "sent_rejects", ("tenant", "sequence", "position")),
    Table("arrivals", SCRATCH, "stored_arrivals", "arrivals", ("tenant", "trace_id")),
    Table("run_marks", DATABASE, "run_marks", "run_marks", ("tenant", "run_id", "mark")),
)


class RawRows:
    """One verification of rows. Reads only, but for its scratch database."""

    def __init__(
        self,
        store: Store,
        log: ReadableLog,
        scratch: Scratch,
        part: VerifiedPart,
        *,
        log_number: int,
        waiting_receipts: bool,
        quarantined: Iterable[int],
    ) -> None:
        """`waiting_receipts`: some are not carried out, so that what they name may be there or not."""
        self._store = store
        self._log = log
        self._scratch = scratch
        self._part = part
        self._base = base_of(log_number)
        self._log_number = log_number
        self._waiting = waiting_receipts
        self._quarantined = set(quarantined)
        self._receipts: set[int] = set()
        self._others: Parameters = {"tenant": "", "trace_ids": []}

    def check_all(self, loaded: int, go_on: Callable[[], None], progress: Callable[[int], None]) -> None:
        """Compare every row of every record up to `loaded`, in both directions."""
        for table in TABLES:
            go_on()
            self._command("store_hashes", table, 1, loaded)
        after = 0
        while after < loaded:
            go_on()
            content = self._slice(after, loaded)
            last = content.frames[-1].sequence if content.frames else loaded
            self._compare(content, after + 1, last)
            after = last
            progress(after)
        for table in TABLES:
            self._check_outside(table)
        stored = self._store.rows(load("stored_receipt_numbers"), {"log": self._log_number})
        for (number,) in stored:
            if number not in self._receipts:
                self._part.report_wrong(
                    f"receipts, number {number}", "is stored, but not in any record of the log"
                )

    def check_some(
        self,
        ranges: Sequence[tuple[int, int]],
        go_on: Callable[[], None],
        progress: Callable[[int], None],
        tenant: str = "",
        trace_ids: Sequence[str] = (),
    ) -> None:
        """Compare rows that come from records in these ranges: those of the traces that the records hold, and of these
        traces of a tenant, which they may not hold."""
        self._others = {"tenant": tenant, "trace_ids": list(trace_ids)}
        for place, (first, last) in enumerate(ranges):
            after = first - 1
            while after < last:
                go_on()
                content = self._slice(after, last)
                end = content.frames[-1].sequence if content.frames else last
                self._compare(content, after + 1, end, stored=False)
                after = end
            progress(place + 1)

    def _slice(self, after: int, until: int) -> Content:
        return next_content(
            self._log, after, most_items=SLICE_ITEMS, most_bytes=SLICE_BYTES, wait_seconds=0.0, until=until
        )

    def _compare(self, content: Content, first: int, last: int, *, stored: bool = True) -> None:
        """Compare one slice. `stored`: the hashes of its rows are noted already."""
        left = self._without_deleted(content, first, last)
        if left is None:
            return
        unreadable = self._scratch.fill(left)
        self._check_quarantine(unreadable, first, last)
        for table in TABLES:
            if not stored and table.by_trace:
                self._command("store_hashes_of_traces", table, first, last, self._others)
            elif not stored:
                self._command("store_hashes", table, first, last)
            self._check_table(table, first, last)
        self._check_receipts()
        ((spans, logs, rejects, arrivals, marks),) = typed_rows(
            self._scratch.store, tuple[int, int, int, int, int], load("count_sent")
        )
        self._part.count(
            records=len(content.frames),
            raw_spans=spans,
            raw_logs=logs,
            raw_rejects=rejects,
            arrivals=arrivals,
            run_marks=marks,
        )
        self._scratch.clear()
        if not stored:
            self._scratch.clear("stored")

    def _without_deleted(self, content: Content, first: int, last: int) -> Content | None:
        """Return the records without what receipts account for; None when that cannot be told now."""
        between = {"first": self._base + first, "last": self._base + last}
        graves = typed_rows(self._store, Deleted, load_of_retention("graves_between"), between)
        if not graves:
            return content
        if self._waiting:
            self._part.leave_out(
                f"rows of records {first}-{last} and of others that receipts name: receipts wait to be carried out, which "
                "the next `retention apply` does"
            )
            return None
        change = cleanser_of(graves)
        parts: list[bytes] = []
        frames: list[Frame] = []
        size, data = 0, content.data
        for frame in content.frames:
            made = change(data[frame.body : frame.end])
            whole = data[frame.start : frame.end] if made == b"" else made
            if not whole:
                continue
            body = size + (frame.body - frame.start if made == b"" else _length_bytes(whole))
            frames.append(Frame(frame.sequence, size, body, size + len(whole)))
            parts.append(whole)
            size += len(whole)
        return Content.of(b"".join(parts), frames)

    def _check_quarantine(self, unreadable: set[int], first: int, last: int) -> None:
        noted = {sequence for sequence in self._quarantined if first <= sequence <= last}
        for sequence in sorted(noted - unreadable):
            self._part.report_wrong(
                f"log/batches.jsonl, record {sequence}",
                "is listed as unreadable, but can be read",
                record=sequence,
            )

    def _check_table(self, table: Table, first: int, last: int) -> None:
        asked = self._asked(table, first, last)
        rows = typed_rows(self._scratch.store, tuple[int, str, bool], load("differing"), asked)
        if not rows:
            return
        missing = [(sequence, digest) for sequence, digest, is_stored in rows if not is_stored]
        extra = [(sequence, digest) for sequence, digest, is_stored in rows if is_stored]
        if missing and table.merges:
            merged = set(typed_rows(self._scratch.store, tuple[int, str], load("newer_copies"), asked))
            self._part.count(merged_with_newer=len(merged))
            missing = [pair for pair in missing if pair not in merged]
        wanted = self._rows_of(SCRATCH, table.sent, missing[:MOST_NAMED])
        found = self._rows_of(table.database, table.stored, extra[:MOST_NAMED])
        for sent, stored in paired(wanted, found, table.place, "sequence"):
            self._name(table, sent, stored)
        unnamed = max(len(missing) - len(wanted), len(extra) - len(found), 0)
        if unnamed:
            self._part.wrong += unnamed - 1
            self._part.report_wrong(
                f"{table.name}, records {first}-{last}",
                f"{unnamed:,} more rows differ from the log",
            )

    def _name(self, table: Table, sent: Row | None, stored: Row | None) -> None:
        row = sent if sent is not None else cast(Row, stored)
        record = cast(int, row["sequence"]) & ((1 << LOG_SHIFT) - 1)
        columns: list[str] = []
        if sent is None:
            what = f"is stored, but not in record {record} of the log"
        elif stored is None:
            what = f"is in record {record} of the log, but not stored"
        else:
            columns = differing_columns(sent, stored)
            what = f"{', '.join(columns)} {'is' if len(columns) == 1 else 'are'} different in record {record} of the log"
        self._part.report_wrong(
            _where(table, row),
            what,
            table=table.name,
            record=record,
            columns=columns,
            **{name: row[name] for name in table.place},
        )

    def _rows_of(self, database: str, table: str, wanted: Sequence[tuple[int, str]]) -> list[Row]:
        if not wanted:
            return []
        return self._scratch.objects(
            load("rows_by_hash"),
            {
                "database": database,
                "table": table,
                **self._scratch.key,
                "sequences": sorted({sequence for sequence, _ in wanted}),
                "hashes": [digest for _, digest in wanted],
            },
        )

    def _check_outside(self, table: Table) -> None:
        durable = self._base + self._log.durable_sequence
        asked: Parameters = {
            "database": table.database,
            "table": table.stored,
            "log": self._log_number,
            "durable": durable,
        }
        for sequence in typed_column(self._scratch.store, int, load("outside"), asked):
            record = sequence - self._base
            self._part.report_wrong(
                f"{table.name}, record {record}",
                "is stored, but the log does not have this record",
                table=table.name,
                record=record,
            )

    def _check_receipts(self) -> None:
        store = self._scratch.store
        for (number,) in store.rows(load("receipts_differing"), {"main": DATABASE, "log": self._log_number}):
            self._part.report_wrong(
                f"receipts, number {number}", "is stored differently from the log", table="receipts"
            )
        self._receipts.update(typed_column(store, int, load("receipt_numbers")))

    def _command(
        self, statement: str, table: Table, first: int, last: int, more: Parameters | None = None
    ) -> None:
        self._scratch.store.command(load(statement), {**self._asked(table, first, last), **(more or {})})

    def _asked(self, table: Table, first: int, last: int) -> Parameters:
        return {
            "source": table.name,
            "database": table.database,
            "table": table.stored,
            "sent": table.sent,
            **self._scratch.key,
            "first": self._base + first,
            "last": self._base + last,
        }


def _where(table: Table, row: Row) -> str:
    if "span_id" in row and row["trace_id"]:
        return f"{table.name}, span {row['span_id']} of trace {row['trace_id']}"
    return f"{table.name}, {', '.join(f'{name} {row[name]}' for name in table.place)}"


def _length_bytes(record: bytes) -> int:
    """Return how many bytes a record's length takes."""
    at = 0
    while record[at] & 0x80:
        at += 1
    return at + 1
