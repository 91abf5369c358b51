"""The loader: a thread that brings durable records of the log into the raw tables, batch by batch, exactly once.

    cut a batch → write it into the ledger (fsync) → insert with its token → mark it loaded → tell the interpreter

A crash at any point leaves the batch open in the ledger; it is then repeated with the same bytes and the same token,
so ClickHouse ignores what it has. Beyond that every raw row is keyed by its content: even a repeat under another
token (a new epoch) adds nothing to what a reader sees.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from retrospan.ingest.load.batch_insertion import BatchInsertion, NothingReturns, Returning
from retrospan.ingest.load.batches import (
    Content,
    ReadableLog,
    content_of,
    next_content,
    token_of,
    token_of_hash,
)
from retrospan.ingest.load.burst import Burst
from retrospan.ingest.load.chain import Chains, insert_link
from retrospan.ingest.load.checking import Check, check_tables, newest_epoch, older_copy, stored_items
from retrospan.ingest.load.counters import LoaderCounters
from retrospan.ingest.load.landing import note_stored
from retrospan.ingest.load.ledger import Batch, Ledger
from retrospan.ingest.load.prefetch import Prefetcher
from retrospan.ingest.load.reloading import Progress, wait_reloaded
from retrospan.ingest.load.rest import Rest
from retrospan.ingest.machine.priority import LOADING
from retrospan.ingest.service import Service
from retrospan.ingest.settings.config import LoaderSettings
from retrospan.schemas.errors import RetrospanError, SegmentUnreadable, WarehouseUnavailable
from retrospan.schemas.migrate import Migrations
from retrospan.schemas.store import Store

_LOG = logging.getLogger(__name__)

#: How often the thread looks whether it should stop while nothing arrives, in seconds.
_IDLE_SECONDS = 0.5
_SMALL_BATCH = 4  # a batch below this part of a full one
#: Rows are counted again when that takes no more than this share of the time.
_COUNTING_SHARE = 0.01

StoreFactory = Callable[[], Store]


class Loader(Service):
    """One per data directory. `start` and `stop` belong to the collector; everything else may be called from any thread.

    `failure` is the reason why nothing is loaded at the moment.
    """

    thread_name = "retrospan-loader"
    work = "loading"
    niceness = LOADING
    pauses = (0.2, 5.0)
    permanent_pauses = (0.2, 60.0)  # somebody has to mend it

    def __init__(
        self,
        log: ReadableLog,
        store_factory: StoreFactory,
        ledger: Ledger,
        settings: LoaderSettings,
        log_number: int = 0,
        on_loaded: Callable[[int, int], None] = lambda first, last: None,
        returning: Returning | None = None,
    ) -> None:
        """`log_number` tells this log from the others that fill the same warehouse; `on_loaded` is called with (first, last)
        after each batch, in the loader's thread. `returning` knows what must not be loaded again."""
        super().__init__()
        self.counters = LoaderCounters()
        self.check = Check()
        """What the last comparison of tables and ledger found."""
        self._log = log
        self._store_factory = store_factory
        self._ledger = ledger
        self._settings = settings
        self._log_number = log_number
        self._on_loaded = on_loaded
        self._store: Store | None = None
        self.chains = Chains(ledger)
        """How far batches and receipts are chained, for whoever verifies or deletes them."""
        self._ahead = Prefetcher(lambda after: self._next_content(after, wait_seconds=0.0))
        self._moved = threading.Condition()
        self._behind_since: float | None = None
        self._resting = Rest()
        self._burst = Burst()
        self._batch_is_small = True
        self._batch_records = 0
        self._insertion = BatchInsertion(ledger.quarantine)
        self._returning = returning or NothingReturns()
        self._counted_at = self._counting_seconds = 0.0
        self._uncounted = self._prepared = False
        self._stored_at_start = 0
        self._noted_epoch = -1
        self.unreadable = 0
        """Failures in a row to read a file of the log."""

    @property
    def loaded_sequence(self) -> int:
        """Every record up to this one is in the raw tables, or in quarantine."""
        return self._ledger.loaded_sequence

    @property
    def quarantined(self) -> int:
        """Records that could not be loaded."""
        return len(self._ledger.quarantined)

    @property
    def counted(self) -> Mapping[str, int]:
        """The rows of each raw table when they were last counted, those that are missing included."""
        return self._ledger.counted

    @property
    def lag_records(self) -> int:
        """Durable records that are not loaded yet."""
        return max(0, self._log.durable_sequence - self._ledger.loaded_sequence)

    @property
    def is_flooded(self) -> bool:
        """Whether so much comes in that the loader wants the processor to itself: as many records follow a batch that is
        not small. The last batch of a flood is loaded beside what is interpreted."""
        return not self._batch_is_small and self.lag_records >= self._batch_records

    @property
    def lag_seconds(self) -> float:
        """How long there has been something to load without a batch getting through."""
        since = self._behind_since
        return 0.0 if since is None or not self.lag_records else time.monotonic() - since

    def prepare(self) -> None:
        """Bring the tables up to date, compare them with the ledger, and forget the ledger if they are empty.

        Raises:
            SchemaTooNew: a later release wrote the warehouse.
            WarehouseUnavailable, SqlError: the warehouse cannot be used.
        """
        with self.chains.locked():
            store = self._connection()
            applied = Migrations(store).apply()
            if applied:
                _LOG.info("applied %d migrations, the last is %s", len(applied), applied[-1].name)
            self.check = self._checked(store)
            self._stored_at_start = stored_items(self.check.loaded)
            if self.check.is_empty and (self._ledger.loaded_sequence or self._ledger.open_batch):
                _LOG.warning("the tables are empty and the log is not: loading it again")
                self._ledger.begin_epoch()
                self.check = replace(self.check, missing={})
            if self.check.complaint:
                _LOG.error("%s", self.check.complaint)
            if self._ledger.is_new and (epoch := newest_epoch(store, self._log_number)) >= self._ledger.epoch:
                # The ledger was removed: the rows of the batches before stay what they are.
                self._ledger.begin_epoch(epoch)
            if fault := older_copy(store, self._ledger, self._log_number):
                self._ledger.note_rechecked(self._ledger.epoch, fault)
            self._prepared = True

    def start(self) -> None:
        """`prepare`, then load in a thread of its own until `stop`. A warehouse that does not answer is waited for."""
        try:
            self.prepare()
        except WarehouseUnavailable as cause:
            self.failure = str(cause)[:500]
            _LOG.warning("loading begins once the warehouse answers: %.300s", cause)
            self._forget_connection()
        super().start()

    def stop(self, timeout: float = 0.0) -> bool:
        """Load for up to `timeout` seconds what is durable already, then end the thread and close the ledger.

        Returns whether everything durable is loaded. What is not stays in the log for the next start.
        """
        is_all_loaded = super().stop(timeout)
        self._ahead.drop()
        with self.chains.locked():
            if self._store is not None:
                self._store.close()
                self._store = None
            self._ledger.close()
        return is_all_loaded

    def wait_loaded(self, sequence: int, timeout: float) -> bool:
        """Wait up to `timeout` seconds until a record of the log is loaded; whether it is."""
        with self._moved:
            return self._moved.wait_for(lambda: self.loaded_sequence >= sequence, timeout)

    def reload_all(self, progress: Progress | None = None) -> int:
        """Insert every record of the log again and return when all are in; returns the last one's sequence.

        What is in the tables stays, and is not doubled. Meanwhile the loader's thread does the work; `progress` is
        called in the caller's with (loaded, all).

        Raises SegmentUnreadable and WarehouseUnavailable as `wait_reloaded` does.
        """
        with self.chains.locked():
            self._ledger.begin_epoch()
            self.check = Check()
            target = self._log.durable_sequence
        wait_reloaded(self, target, progress or (lambda loaded, everything: None))
        return target

    def missing_rows(self) -> dict[str, int]:
        """Compare the tables with the ledger now: rows that were loaded and are gone, by table; {} when none is."""
        with self.chains.locked():
            self.check = self._checked(self._connection())
        return dict(self.check.missing)

    def load_next(self, wait_seconds: float = 0.0) -> bool:
        """Load one batch, waiting up to `wait_seconds` for something to load; whether there was any.

        Raises WarehouseUnavailable when the warehouse takes nothing now; the batch stays open and comes first.
        """
        if self._ledger.open_batch is None and not self._log.wait_beyond(self.loaded_sequence, wait_seconds):
            return False
        if self._behind_since is None:
            self._behind_since = time.monotonic()
        with self.chains.locked():
            batch = self._ledger.open_batch
            if batch is None:
                content = self._ahead.take(self.loaded_sequence) or self._next_content(
                    self.loaded_sequence, wait_seconds=self._patience()
                )
                self._let_burst_pass(content)
                batch = self._begin(content)
            else:
                content = content_of(self._log, batch)
                self.counters.repeated += 1
            self._insert(batch, content)
            link = insert_link(self._connection(), self._ledger, self._log_number, batch, content)
            # Before the ledger counts it as loaded: what is loaded has a hash.
            self._ledger.hashes.note(content, batch.last)
            self._ledger.finish(batch, link)
            self._uncounted = True
        self._tell(batch)
        return True

    def _next_content(self, after: int, *, wait_seconds: float) -> Content:
        return next_content(
            self._log,
            after,
            most_items=self._settings.batch_spans,
            most_bytes=self._settings.batch_bytes,
            wait_seconds=wait_seconds,
            pause=self._stopping.wait,
        )

    def _patience(self) -> float:
        """Return how long a batch that is not full waits for more, in seconds."""
        if self.is_stopping or not self._settings.wait_seconds:
            return 0.0
        return max(self._settings.wait_seconds, self._resting.seconds_left)

    def _is_small(self, content: Content) -> bool:
        return (
            content.items * _SMALL_BATCH < self._settings.batch_spans
            and content.size * _SMALL_BATCH < self._settings.batch_bytes
        )

    def _let_burst_pass(self, content: Content) -> None:
        """Leave the processor to senders while more than a full batch of such records arrives every second."""
        if self._is_small(content):
            self._burst.caught_up()
            return
        if not self._settings.wait_seconds:
            return
        spans, last = self._settings.batch_spans, content.frames[-1].sequence
        rate = min(self._settings.batch_bytes, content.size * spans // max(1, content.items))
        self._burst.let_pass(rate, lambda: self._log.bytes_beyond(last), self._stopping.wait)

    def _begin(self, content: Content) -> Batch:
        if not content.frames:
            # These records were damaged on disk; the log's own recovery says so. Nothing of them can be loaded.
            first, last = self.loaded_sequence + 1, self._log.durable_sequence
            batch = Batch(first=first, last=last, records=0, items=0, token=token_of(self._ledger.epoch, b""))
        else:
            batch = content.batch(self._ledger.epoch)
        batch = replace(batch, begun_at=time.time_ns())
        self._ledger.begin(batch)
        return batch

    def _insert(self, batch: Batch, content: Content) -> None:
        started = time.perf_counter()
        store = self._connection()
        self._batch_records = batch.last - batch.first + 1
        self._batch_is_small = self._is_small(content)
        if self._log.bytes_beyond(batch.last) >= self._settings.batch_bytes:
            self._ahead.begin(batch.last)
        if self._noted_epoch != self._ledger.epoch:
            self._returning.learn(store, batch.first - 1, self._require_running)
            if self._log_number == 0:
                note_stored(store, batch.first)
            self._noted_epoch = self._ledger.epoch
        left = self._returning.without_deleted(content)
        token = batch.token if left is content else token_of_hash(self._ledger.epoch, left.hash)
        self.counters.refused += self._insertion.insert(store, batch, left, token, self._ledger.epoch)
        seconds = time.perf_counter() - started
        # Small inserts cost as much as large ones: after one the loader rests. After a large one it goes on.
        self._resting.begin(seconds, self._batch_is_small)
        self.counters.seconds += seconds
        self.counters.batches += 1
        self.counters.records += len(content.frames)
        self.counters.items += batch.items
        self.counters.bytes += content.size

    def _require_running(self) -> None:
        if self.is_stopping and not self._drains():
            raise WarehouseUnavailable("the collector is stopping: the rest is loaded at the next start")

    def _tell(self, batch: Batch) -> None:
        self.failure, self.unreadable = "", 0
        self._behind_since = time.monotonic() if self.lag_records else None
        with self._moved:
            self._moved.notify_all()
        try:
            self._on_loaded(batch.first, batch.last)
        except Exception:  # noqa: BLE001 - who listens must not be able to stop the loading
            _LOG.exception("a listener failed on batch %d-%d", batch.first, batch.last)

    @property
    def has_more(self) -> bool:
        """Whether something durable is not loaded yet."""
        return self.lag_records > 0

    def run_once(self) -> None:
        """Load the next batch, waiting a moment for it."""
        if not self._prepared:
            self.prepare()
            self.failure = ""
        self.load_next(_IDLE_SECONDS)
        self._count()

    def failed(self, error: Exception) -> None:
        """Have the next try open a connection; a fault of ours ends the loading."""
        self.counters.failures += 1
        self.unreadable = self.unreadable + 1 if isinstance(error, SegmentUnreadable) else 0
        if not isinstance(error, RetrospanError | OSError):
            # The log keeps the records and the health page says it.
            self.failure = "an internal error, see the collector's log; what arrives stays in the log"
            raise error
        self._forget_connection()

    def end(self) -> None:
        """Note how many rows there are."""
        try:
            self._count(at_any_price=True)
        except RetrospanError as cause:
            _LOG.warning("the rows were not counted before the stop: %.300s", cause)

    def _count(self, *, at_any_price: bool = False) -> None:
        """Note how many rows there are, for the next start's check."""
        since = time.monotonic() - self._counted_at
        cheap = self._counting_seconds <= since * _COUNTING_SHARE
        if not self._uncounted or not (cheap or at_any_price):
            return
        with self.chains.locked():
            started = time.monotonic()
            found = self._checked(self._connection())
            # New rows must not hide that others are gone: that is reported until a rebuild has brought them back.
            gone = {
                table: max(rows, found.missing.get(table, 0)) for table, rows in self.check.missing.items()
            }
            found = replace(found, missing={**found.missing, **gone})
            if found.complaint and found.complaint != self.check.complaint:
                _LOG.error("%s", found.complaint)
            self.check = found
            self._ledger.count(
                {table: rows + found.missing.get(table, 0) for table, rows in found.loaded.items()}
            )
            new = stored_items(found.loaded) - self._stored_at_start
            self.counters.duplicates = max(self.counters.duplicates, self.counters.items - new)
            self._counted_at = time.monotonic()
            self._counting_seconds = self._counted_at - started
            self._uncounted = False

    def _checked(self, store: Store) -> Check:
        return check_tables(store, self._ledger.counted, self._log_number, self._ledger.buried)

    def _connection(self) -> Store:
        if self._store is None:
            self._store = self._store_factory()
        return self._store

    def _forget_connection(self) -> None:
        """Throw away a connection that failed; the next try opens a new one."""
        with self.chains.locked():
            store, self._store = self._store, None
        if store is not None:
            store.close()
