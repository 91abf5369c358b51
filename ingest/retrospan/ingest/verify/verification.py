"""One verification, part by part: chains, log, views, raw rows, derived rows, and the head that may be kept elsewhere.

Nothing is changed, and loading continues meanwhile: records loaded after it began are not checked. Each part reports
what it compared and what it did not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from retrospan.ingest.interpret.service.run_queue import TraceKey
from retrospan.ingest.interpret.service.selection import EVERYTHING, Selection
from retrospan.ingest.load.chain import Chains
from retrospan.ingest.rules.ruleset import NO_RULES, Ruleset
from retrospan.ingest.verify.chains import verify
from retrospan.ingest.verify.derived_rows import DerivedRows
from retrospan.ingest.verify.head import fault_of, head_of
from retrospan.ingest.verify.installed_views import check_views
from retrospan.ingest.verify.log_bytes import (
    Expected,
    LogBytes,
    attested_segments,
    batch_hashes,
    in_order,
    known_hashes,
)
from retrospan.ingest.verify.part_files import check_files
from retrospan.ingest.verify.raw_rows import RawRows
from retrospan.ingest.verify.report import Report, VerifiedPart
from retrospan.ingest.verify.request import VerifyRequest
from retrospan.ingest.verify.sample import Ranges, choose_ranges, overlaps, sampled_traces
from retrospan.ingest.verify.scratch import Scratch
from retrospan.ingest.verify.sql import load
from retrospan.ingest.verify.surviving_log import LogOfFiles, SurvivingLog
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import BadRequest, WarehouseUnavailable
from retrospan.schemas.sequences import base_of
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_column


@dataclass(frozen=True, slots=True)
class _State:
    """The state when it began."""

    epoch: int
    loaded: int
    durable: int
    waiting: bool
    ended: int
    """The last record of the epoch, by its batches."""


class Verification:
    """Verifies one log and the rows that come from it."""

    def __init__(
        self,
        warehouse: Warehouse,
        log: LogOfFiles,
        chains: Chains,
        log_number: int,
        *,
        rules: Callable[[], Ruleset] = lambda: NO_RULES,
        prices: bytes = b"",
        stopping: Callable[[], bool] = lambda: False,
        shared: bool = False,
    ) -> None:
        """`shared`: other logs fill the same warehouse, which are for their own collectors to verify."""
        self._warehouse = warehouse
        self._log = SurvivingLog(log)
        self._chains = chains
        self._log_number = log_number
        self._rules = rules
        self._prices = prices
        self._stopping = stopping
        self._shared = shared

    def run(self, asked: VerifyRequest, report: Report) -> None:
        """Report what is wrong, what was covered and what was not; then the head.

        Raises:
            BadRequest: there is no such run, or the expected head is not a head.
            WarehouseUnavailable: the collector stops, or the warehouse does not answer.
        """
        with closing(self._warehouse.connect()) as store:
            self._run(store, asked, report)

    def _run(self, store: Store, asked: VerifyRequest, report: Report) -> None:
        traces = [row.trace for row in Selection(run=asked.run).traces(store)] if asked.run else []
        if asked.run and not traces:
            raise BadRequest(f"verify: there is no run {asked.run[:80]!r}.")
        proven = self._check_head(store, asked, report)
        state = self._check_chains(store, report, proven)
        ranges, how = choose_ranges(store, self._log_number, state.epoch, asked, traces)
        self._check_log(store, state, ranges, how, report)
        if asked.full:
            self._check_files(store, report)
        with Scratch(self._warehouse) as scratch:
            self._check_views(store, report)
            self._check_raw(store, scratch, state, ranges, how, traces, report)
            if asked.derived:
                if asked.full:
                    traces = [row.trace for row in EVERYTHING.traces(store)]
                chosen = traces or sampled_traces(store, self._log_number, ranges)
                self._check_derived(store, scratch, chosen, asked, how, report)
        report({"head": head_of(store, self._log_number, self._chains.hashes, self._chains.receipts.number)})

    def _check_head(self, store: Store, asked: VerifyRequest, report: Report) -> bool:
        if not asked.expect:
            return False
        part = VerifiedPart("expected head", report)
        wrong = fault_of(asked.expect, store, self._log_number, self._chains.hashes)
        if wrong:
            part.report_wrong("the expected head", wrong)
        else:
            part.count(heads=1)
        part.end(0)
        return not wrong

    def _check_chains(self, store: Store, report: Report, proven: bool) -> _State:
        for found in verify(store, self._chains, self._log_number):
            report(
                {
                    "chain": found.chain,
                    "log": found.log,
                    "links": found.links,
                    "at": found.at or None,
                    "wrong": found.wrong or None,
                }
            )
        chains = self._chains
        with chains.locked():
            named = {"log": self._log_number, "epoch": chains.epoch}
            (last,) = typed_column(store, int, load("last_batch"), named)
            asked_of = {"log": self._log_number, "buried": chains.applied}
            (waiting,) = typed_column(store, int, load("waiting_receipts"), asked_of)
            state = _State(
                chains.epoch,
                chains.loaded_sequence,
                self._log.durable_sequence,
                bool(waiting),
                max(0, last - base_of(self._log_number)),
            )
        part, began = VerifiedPart("ledger", report), time.monotonic()
        part.count(loaded_records=state.loaded)
        if state.ended != state.loaded:
            part.report_wrong(
                "log/batches.jsonl",
                f"says that records up to {state.loaded} are loaded, but the last batch of epoch {state.epoch} ends with "
                f"record {state.ended}",
            )
        if chains.hashes.last < state.loaded:
            part.report_wrong(
                "log/hashes", f"ends with record {chains.hashes.last}, but {state.loaded} are loaded"
            )
        if chains.damage:
            part.report_wrong("log/batches.jsonl", chains.damage)
        for name in () if proven else chains.lost:
            part.report_wrong(
                f"log/{name}",
                "was missing when the collector started, though records had been loaded: what they held before that "
                "start can only be compared with a head that was kept elsewhere (--expect)",
            )
        part.end(time.monotonic() - began)
        return state

    def _check_log(
        self, store: Store, state: _State, ranges: Ranges | None, how: str, report: Report
    ) -> None:
        part, began = VerifiedPart("log", report), time.monotonic()
        hashes = self._chains.hashes
        end = max(state.loaded, hashes.last)
        wanted = overlaps(ranges)
        attested = attested_segments(store, self._log_number)
        for segment in self._log.missing():
            if segment.path.name not in attested:
                part.report_wrong(
                    segment.place,
                    f"is missing: it held records {segment.first}-{segment.last} when the collector started",
                    file=segment.path.name,
                )
        bytes_of = LogBytes(self._log, attested, state.loaded, part, self._go_on)
        bytes_of.check_segments()
        bytes_of.check(
            in_order(
                known_hashes(hashes, part, lambda first, last: last <= end and wanted(first, last)),
                self._contiguous(
                    batch_hashes(
                        store, self._log_number, part, lambda first, last: last <= end and wanted(first, last)
                    ),
                    part if ranges is None else None,
                ),
            ),
            lambda done: report({"phase": "reading the log", "done": done, "total": end, "unit": "records"}),
        )
        if how:
            part.leave_out(how)
        if state.durable > end:
            part.leave_out(
                f"records {end + 1}-{state.durable} are not loaded yet: only their own checksums protect them"
            )
        part.end(time.monotonic() - began)

    def _contiguous(self, batches: Iterator[Expected], part: VerifiedPart | None) -> Iterator[Expected]:
        """Yield the same, but say which records of the log no batch of any epoch holds."""
        last = 0
        for batch in batches:
            if part is not None and batch.first > last + 1:
                found = self._log.read(last, max_bytes=1, until=batch.first - 1)
                if found is not None:
                    part.report_wrong(
                        f"records {found.first_sequence}-{batch.first - 1}",
                        "are in the log, but not in any batch",
                    )
            last = max(last, batch.last)
            yield batch

    def _check_files(self, store: Store, report: Report) -> None:
        part, began = VerifiedPart("files of tables", report), time.monotonic()
        check_files(store, part, self._go_on)
        part.end(time.monotonic() - began)

    def _check_views(self, store: Store, report: Report) -> None:
        part, began = VerifiedPart("views", report), time.monotonic()
        check_views(store, part, self._go_on)
        part.end(time.monotonic() - began)

    def _check_raw(
        self,
        store: Store,
        scratch: Scratch,
        state: _State,
        ranges: Ranges | None,
        how: str,
        traces: Sequence[TraceKey],
        report: Report,
    ) -> None:
        part, began = VerifiedPart("raw rows", report), time.monotonic()
        rows = RawRows(
            store,
            self._log,
            scratch,
            part,
            log_number=self._log_number,
            waiting_receipts=state.waiting,
            quarantined=self._chains.quarantined,
        )
        if ranges is None:
            rows.check_all(
                state.loaded,
                self._go_on,
                lambda done: report(
                    {"phase": "comparing raw rows", "done": done, "total": state.loaded, "unit": "records"}
                ),
            )
        else:
            rows.check_some(
                ranges,
                self._go_on,
                lambda done: report(
                    {"phase": "comparing raw rows", "done": done, "total": len(ranges), "unit": "places"}
                ),
                traces[0][0] if traces else "",
                [trace_id for _, trace_id in traces],
            )
        if how:
            part.leave_out(how)
        if ranges is not None:
            part.leave_out("rows of traces outside the checked records: finding added rows needs --full")
        if self._shared:
            part.leave_out("rows that come from the logs of other collectors: each verifies its own")
        part.end(time.monotonic() - began)

    def _check_derived(
        self,
        store: Store,
        scratch: Scratch,
        traces: Sequence[TraceKey],
        asked: VerifyRequest,
        how: str,
        report: Report,
    ) -> None:
        part, began = VerifiedPart("derived rows", report), time.monotonic()
        derived = DerivedRows(store, scratch, part, self._rules(), lambda tenant, run_id: True, self._prices)
        derived.check(
            traces,
            self._go_on,
            lambda done, total: report(
                {"phase": "interpreting again", "done": done, "total": total, "unit": "traces"}
            ),
            all_of_them=asked.full,
        )
        if how:
            part.leave_out(how)
        part.end(time.monotonic() - began)

    def _go_on(self) -> None:
        if self._stopping():
            raise WarehouseUnavailable("The collector is stopping: verification is incomplete.")
