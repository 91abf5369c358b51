"""One verification, part by part: chains, log, raw rows, derived rows, and the head that may be kept elsewhere.

Nothing is changed, and loading goes on meanwhile: what is loaded later than it began is not looked at. Each part says
what it compared and what it did not.
"""

from __future__ import annotations

import secrets
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from retrospan.ingest.interpret.service.selection import EVERYTHING, Selection
from retrospan.ingest.load.batches import ReadableLog
from retrospan.ingest.load.chain import Chains
from retrospan.ingest.rules.ruleset import NO_RULES, Ruleset
from retrospan.ingest.verify.chains import verify
from retrospan.ingest.verify.derived_rows import DerivedRows
from retrospan.ingest.verify.head import fault_of, head_of
from retrospan.ingest.verify.log_bytes import (
    Expected,
    LogBytes,
    VerifiedLog,
    attested_segments,
    batch_hashes,
    in_order,
    known_hashes,
)
from retrospan.ingest.verify.raw_rows import RawRows
from retrospan.ingest.verify.request import VerifyRequest
from retrospan.ingest.verify.scratch import Scratch
from retrospan.ingest.verify.sql import load
from retrospan.ingest.verify.told import Part, Report
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import BadRequest, WarehouseUnavailable
from retrospan.schemas.sequences import LOG_SHIFT, base_of
from retrospan.schemas.store import Parameters, Store

SAMPLE_SHARE = 0.05
FEWEST_BATCHES, MOST_BATCHES = 10, 40
MOST_SAMPLED_TRACES = 200

Ranges = list[tuple[int, int]]


class LogToVerify(VerifiedLog, ReadableLog, Protocol):
    """The log, as far as it is verified."""


@dataclass(frozen=True, slots=True)
class _State:
    """What was so when it began."""

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
        log: LogToVerify,
        chains: Chains,
        log_number: int,
        *,
        rules: Callable[[], Ruleset] = lambda: NO_RULES,
        stopping: Callable[[], bool] = lambda: False,
        shared: bool = False,
    ) -> None:
        """`shared`: other logs fill the same warehouse, which are for their own collectors to verify."""
        self._warehouse = warehouse
        self._log = log
        self._chains = chains
        self._log_number = log_number
        self._rules = rules
        self._stopping = stopping
        self._shared = shared

    def run(self, asked: VerifyRequest, report: Report) -> None:
        """Report what is wrong, what was covered and what was not; then the head.

        Raises:
            BadRequest: there is no such run, or the expected head is none.
            WarehouseUnavailable: the collector stops, or the warehouse does not answer.
        """
        store = self._warehouse.connect()
        try:
            self._run(store, asked, report)
        finally:
            store.close()

    def _run(self, store: Store, asked: VerifyRequest, report: Report) -> None:
        traces = Selection(run=asked.run).traces(store) if asked.run else []
        if asked.run and not traces:
            raise BadRequest(f"verify: there is no run {asked.run[:80]!r}.")
        proven = self._check_head(store, asked, report)
        state = self._check_chains(store, report, proven)
        ranges, how = self._ranges(store, asked, state, traces)
        self._check_log(store, state, ranges, how, report)
        with Scratch(self._warehouse) as scratch:
            self._check_raw(store, scratch, state, ranges, how, traces, report)
            if asked.derived:
                chosen = traces or (EVERYTHING.traces(store) if asked.full else self._sampled(store, ranges))
                self._check_derived(store, scratch, chosen, asked, how, report)
        report({"head": head_of(store, self._log_number, self._chains.hashes, self._chains.receipts.number)})

    def _check_head(self, store: Store, asked: VerifyRequest, report: Report) -> bool:
        if not asked.expect:
            return False
        part = Part("expected head", report)
        wrong = fault_of(asked.expect, store, self._log_number, self._chains.hashes)
        if wrong:
            part.say_wrong("the expected head", wrong)
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
        with chains.turn:
            named = {"log": self._log_number, "epoch": chains.epoch}
            ((last,),) = store.rows(load("last_batch"), named)
            ((waiting,),) = store.rows(
                load("waiting_receipts"), {"log": self._log_number, "buried": chains.applied}
            )
            state = _State(
                chains.epoch,
                chains.loaded_sequence,
                self._log.durable_sequence,
                bool(waiting),
                max(0, cast(int, last) - base_of(self._log_number)),
            )
        part, began = Part("ledger", report), time.monotonic()
        part.count(loaded_records=state.loaded)
        if state.ended != state.loaded:
            part.say_wrong(
                "log/batches.jsonl",
                f"says that records up to {state.loaded} are loaded, and the last batch of epoch {state.epoch} ends with "
                f"record {state.ended}",
            )
        if chains.hashes.last < state.loaded:
            part.say_wrong(
                "log/hashes", f"ends with record {chains.hashes.last}, and {state.loaded} are loaded"
            )
        for name in () if proven else chains.lost:
            part.say_wrong(
                f"log/{name}",
                "was missing when the collector started, though records had been loaded: what they held before that "
                "start can only be compared with a head that was kept elsewhere (--expect)",
            )
        part.end(time.monotonic() - began)
        return state

    def _ranges(
        self, store: Store, asked: VerifyRequest, state: _State, traces: Sequence[list[object]]
    ) -> tuple[Ranges | None, str]:
        """The records to look at, None for all, and how they were chosen."""
        if asked.full:
            return None, ""
        if asked.run:
            records: set[int] = set()
            for tenant in sorted({cast(str, trace[0]) for trace in traces}):
                ids = [cast(str, trace[1]) for trace in traces if trace[0] == tenant]
                rows = store.rows(load("records_of_traces"), {"tenant": tenant, "trace_ids": ids})
                records.update(cast(int, sequence) for (sequence,) in rows)
            own = sorted(s - base_of(self._log_number) for s in records if s >> LOG_SHIFT == self._log_number)
            return _runs_of(own), f"only what records of run {asked.run} hold"
        named = {"log": self._log_number, "epoch": state.epoch}
        ((batches, items),) = store.rows(load("count_batches"), named)
        limit = min(MOST_BATCHES, max(FEWEST_BATCHES, int(cast(int, batches) * SAMPLE_SHARE)))
        seed = asked.seed or secrets.randbits(31)
        rows = store.rows(load("sampled_batches"), {**named, "seed": seed, "limit": limit})
        base = base_of(self._log_number)
        ranges = sorted({(cast(int, row[0]) - base, cast(int, row[1]) - base) for row in rows})
        drawn = sum(cast(int, row[2]) for row in rows)
        if len(ranges) >= cast(int, batches):
            return ranges, ""
        share = drawn / max(1, int(str(items)))
        return ranges, (
            f"a sample: {len(ranges)} of {batches} batches, {share:.1%} of what was loaded (--seed {seed}); the rest needs "
            "--full"
        )

    def _check_log(
        self, store: Store, state: _State, ranges: Ranges | None, how: str, report: Report
    ) -> None:
        part, began = Part("log", report), time.monotonic()
        hashes = self._chains.hashes
        end = max(state.loaded, hashes.last)
        wanted = _overlaps(ranges)
        bytes_of = LogBytes(
            self._log, attested_segments(store, self._log_number), state.loaded, part, self._go_on
        )
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
                f"records {end + 1}-{state.durable} are not loaded yet: only their own checksums speak for them"
            )
        part.end(time.monotonic() - began)

    def _contiguous(self, batches: Iterator[Expected], part: Part | None) -> Iterator[Expected]:
        """The same, but say which records of the log no batch of any epoch holds."""
        last = 0
        for batch in batches:
            if part is not None and batch.first > last + 1:
                found = self._log.read(last, max_bytes=1, until=batch.first - 1)
                if found is not None:
                    part.say_wrong(
                        f"records {found.first_sequence}-{batch.first - 1}",
                        "are in the log, and no batch holds them",
                    )
            last = max(last, batch.last)
            yield batch

    def _check_raw(
        self,
        store: Store,
        scratch: Scratch,
        state: _State,
        ranges: Ranges | None,
        how: str,
        traces: Sequence[list[object]],
        report: Report,
    ) -> None:
        part, began = Part("raw rows", report), time.monotonic()
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
                cast(str, traces[0][0]) if traces else "",
                [cast(str, trace[1]) for trace in traces],
            )
        if how:
            part.leave_out(how)
        if ranges is not None:
            part.leave_out(
                "rows of traces that no record that was looked at holds: rows that were added need --full"
            )
        if self._shared:
            part.leave_out("rows that come from the logs of other collectors: each verifies its own")
        part.end(time.monotonic() - began)

    def _check_derived(
        self,
        store: Store,
        scratch: Scratch,
        traces: Sequence[list[object]],
        asked: VerifyRequest,
        how: str,
        report: Report,
    ) -> None:
        part, began = Part("derived rows", report), time.monotonic()
        derived = DerivedRows(store, scratch, part, self._rules(), lambda tenant, run_id: True)
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

    def _sampled(self, store: Store, ranges: Ranges | None) -> list[list[object]]:
        """Traces of the records that were drawn."""
        base = base_of(self._log_number)
        asked: Parameters = {
            "firsts": [base + first for first, _ in ranges or []],
            "lasts": [base + last for _, last in ranges or []],
            "limit": MOST_SAMPLED_TRACES,
        }
        return store.rows(load("traces_of_records"), asked) if ranges else []

    def _go_on(self) -> None:
        if self._stopping():
            raise WarehouseUnavailable(
                "The collector is stopping: what was not verified yet is not verified."
            )


def _runs_of(records: Sequence[int]) -> Ranges:
    """Records that follow each other as ranges."""
    ranges: Ranges = []
    for record in records:
        if ranges and record == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], record)
        else:
            ranges.append((record, record))
    return ranges


def _overlaps(ranges: Ranges | None) -> Callable[[int, int], bool]:
    """Whether records of a batch are among those that are looked at."""
    if ranges is None:
        return lambda first, last: True
    firsts = [first for first, _ in ranges]

    def overlaps(first: int, last: int) -> bool:
        # Ranges are apart and ascending: the last that begins by `last` reaches farthest.
        at = bisect_right(firsts, last) - 1
        return at >= 0 and ranges[at][1] >= first

    return overlaps
