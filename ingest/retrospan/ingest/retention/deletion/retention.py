"""Plans deletions of runs or their payloads, and carries them out: receipts first, then rows, then bytes of the log.

Both are found in the same way. If the process dies midway, receipts are left in the log, and the next one carries them
out before anything else: no run stays half deleted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Protocol

from retrospan.ingest.load.batches import ReadableLog
from retrospan.ingest.load.chain import Chains
from retrospan.ingest.log.segment import Segment
from retrospan.ingest.retention.deletion.archive_compaction import ArchiveCompaction, ArchivedLog, FaultOf
from retrospan.ingest.retention.deletion.deleter import Deleter, Deletion
from retrospan.ingest.retention.deletion.strip import MARK, kept_attributes
from retrospan.ingest.retention.deletion.tidying import drop_empty_partitions, forget_hidden_runs, write_anew
from retrospan.ingest.retention.policy.announcing import Announcements, number_of_marks
from retrospan.ingest.retention.policy.candidate import OTHER
from retrospan.ingest.retention.policy.moments import text_of
from retrospan.ingest.retention.policy.pins import Pins
from retrospan.ingest.retention.policy.policy import Policy
from retrospan.ingest.retention.policy.reading import require_read
from retrospan.ingest.retention.policy.units import Unit, Units
from retrospan.ingest.retention.receipts.evidence import Evidence, gather
from retrospan.ingest.retention.receipts.listed import Listed, PlanMark
from retrospan.ingest.retention.receipts.receipts import Loading, NoteLog, Receipts, receipts_of
from retrospan.ingest.retention.receipts.summary import Summary
from retrospan.ingest.retention.sql import load
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import BadRequest, ConfigError, WarehouseUnavailable
from retrospan.schemas.retention_tables import Receipt
from retrospan.schemas.store import Parameters, Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

Report = Callable[[Mapping[str, object]], None]
Due = tuple[Unit, Evidence]
#: Units that are looked at and deleted together.
AT_ONCE = 500
#: A clock this far behind what it said before was set back, in nanoseconds.
_JITTER = 300 * 10**9


class Log(NoteLog, ArchivedLog, ReadableLog, Protocol):
    """The write-ahead log, as far as retention uses it, and whoever verifies."""

    def missing(self) -> list[Segment]: ...


class Retention:
    """The retention of one collector. One command at a time; the caller sees to that."""

    def __init__(
        self,
        warehouse: Warehouse,
        log: Log,
        loader: Loading,
        chains: Chains,
        deleter: Deleter,
        fault_of: FaultOf,
        *,
        log_number: int = 0,
        alone: bool = True,
        clock: Callable[[], int] = time.time_ns,
        stopping: Callable[[], bool] = lambda: False,
        set_aside: Callable[[], int] = lambda: 0,
    ) -> None:
        """`fault_of` says whether a segment was altered. `alone`: no other process fills the warehouse. `clock` gives Unix
        nanoseconds. `set_aside` counts the traces that cannot be interpreted, nor be listed as such."""
        self._warehouse = warehouse
        self.log = log
        self._loader = loader
        self._chains = chains
        self._deleter = deleter
        self._fault_of = fault_of
        self._log_number = log_number
        self.alone = alone
        self._clock = clock
        self.stopping = stopping
        self._set_aside = set_aside

    def plan(self, policy: Policy, report: Report, *, at: int = 0, listed: bool = False) -> Summary:
        """Say what `apply` would delete now, or at a time (Unix ns). Changes nothing.

        With `listed` each run is reported as it is found.

        Raises:
            ConfigError: the clock was set back.
            WarehouseUnavailable: the collector stops, or runs that have arrived are not being read.
        """
        now = at or self._clock()
        with closing(self._warehouse.connect()) as store:
            if not at:
                self._require_clock(store, now)
            self._require_read(store, report)
            summary, found = Summary(policy.source, now), Listed()
            for page in self._due(store, policy, now, summary):
                for unit, evidence in page:
                    summary.add(unit, evidence)
                    found.add(unit, evidence)
                    if listed:
                        report({"due": summary.line(unit, evidence)})
                report({"phase": "looking", "done": summary.units, "unit": "runs"})
        summary.plan = str(found.mark(now))
        return summary

    def apply(
        self, policy: Policy, report: Report, *, by: str, listed: bool = False, plan: PlanMark | None = None
    ) -> Summary:
        """Delete what is due now; returns what went. Safe to stop at any point and to begin again.

        With a `plan`, what was due at its time: nothing, unless that is just what the plan listed.

        Raises:
            BadRequest: something else is due than the plan listed, or its time has not come.
            ConfigError: the clock was set back.
            WarehouseUnavailable: the collector stops, or something does not answer; what is done stays done.
        """
        now = self._clock()
        with closing(self._warehouse.connect()) as store:
            self._require_clock(store, now)
            receipts = self._receipts(store)
            self._finish(store, report)
            self._require_read(store, report)
            judged_at = plan.at if plan is not None else now
            meant = self._require_plan(store, policy, plan, now, report) if plan is not None else None
            summary = Summary(policy.source, now)
            marks = 0 if self.alone else number_of_marks(store)
            for found in self._due(store, policy, judged_at, summary):
                self._go_on()
                page = [pair for pair in found if meant is None or meant.holds(*pair)]
                summary.unlisted += len(found) - len(page)
                if not page:
                    continue
                gone = (
                    self._delete(store, receipts, page, now, by)
                    if self.alone
                    else self._delete_announced(store, receipts, page, marks, policy, judged_at, now, by)
                )
                summary.held += len(page) - len(gone)
                for unit, evidence in gone:
                    summary.add(unit, evidence)
                    if listed:
                        report({"due": summary.line(unit, evidence)})
                report({"phase": "deleting", "done": summary.units, "unit": "runs"})
            summary.give_back(
                ArchiveCompaction(self.log, receipts, self._fault_of).run(
                    store,
                    self._loader.loaded_sequence,
                    now - policy.archive if policy.archive else 2**63 - 1,
                    now,
                    by,
                    report,
                    self._go_on,
                )
            )
            if self.alone:
                summary.partitions = drop_empty_partitions(store, self._chains)
                forget_hidden_runs(store)
                write_anew(store)
        return summary

    def finish(self, report: Report = lambda progress: None) -> int:
        """Carry out receipts whose rows may be in the tables: after a kill, and after a rebuild. Returns how many."""
        with closing(self._warehouse.connect()) as store:
            self._receipts(store)
            return self._finish(store, report)

    def has_unburied(self) -> bool:
        """Return whether receipts in the warehouse are not known to be carried out, or a deletion to have ended."""
        with closing(self._warehouse.connect()) as store:
            rows = typed_rows(store, tuple[int, str], load("last_receipt"), {"log": self._log_number})
            if rows and rows[0][0] > self._chains.applied:
                return True
            return not self.alone and Announcements(store, self._log_number).stands

    def look_again(self) -> int:
        """Have receipts carried out again of which rows are still there: an engine that was killed may have lost a
        deletion. Returns how many rows there were."""
        with closing(self._warehouse.connect()) as store:
            (rows,) = typed_column(store, int, load("rows_still_there"))
            asked: Parameters = {"kept": sorted(kept_attributes()), "mark": MARK}
            (payloads,) = typed_column(store, int, load("payloads_still_there"), asked)
        number = rows + payloads
        if number:
            self._chains.note_applied(0)
        return number

    def _require_plan(self, store: Store, policy: Policy, plan: PlanMark, now: int, report: Report) -> Listed:
        """Return what a plan listed, which is what is due as of its time still."""
        if plan.at > now:
            raise BadRequest(
                f"that plan is for {text_of(plan.at)}, and it is {text_of(now)}: apply it when its time has come."
            )
        found, runs = Listed(), Summary(policy.source, plan.at)
        for page in self._due(store, policy, plan.at, runs):
            for unit, evidence in page:
                runs.add(unit, evidence)
                found.add(unit, evidence)
            report({"phase": "comparing with the plan", "done": runs.units, "unit": "runs"})
        if (mark := found.mark(plan.at)) != plan:
            what = (
                f"{mark.runs} now"
                if mark.runs != plan.runs
                else "as many now, but other ones, or with other content"
            )
            raise BadRequest(
                f"what was due at {text_of(plan.at)} is not what the plan listed: {plan.runs} runs and traces then, "
                f"{what}. Nothing was deleted. Look at a new plan: retrospan retention plan"
            )
        return found

    def _receipts(self, store: Store) -> Receipts:
        receipts = Receipts(self.log, self._loader, self._chains, self._log_number)
        receipts.catch_up(store)
        return receipts

    def _due(self, store: Store, policy: Policy, now: int, summary: Summary) -> Iterator[list[Due]]:
        """Yield what goes, some units of one tenant at a time: first what goes as a whole, then payloads."""
        whole = Units(store, policy, now)
        whole_pins = Pins.of(store, whole)
        yield from self._gathered(store, whole, whole_pins, now, summary)
        if policy.payloads is not None:
            units = Units(store, policy.payloads, now, payloads=True)

            def goes(unit: Unit) -> bool:
                return whole.is_due(unit) and not whole_pins.hold(unit)

            yield from self._gathered(store, units, Pins.of(store, units), now, summary, goes)

    @staticmethod
    def _gathered(
        store: Store,
        units: Units,
        pins: Pins,
        now: int,
        summary: Summary,
        goes: Callable[[Unit], bool] = lambda unit: False,
    ) -> Iterator[list[Due]]:
        """Yield what is due and free to go, with what there is of it; not what goes as a whole anyway."""
        for page in units.due():
            at_hand = [unit for unit in page if not goes(unit)]
            free = [unit for unit in at_hand if not pins.hold(unit)]
            summary.pinned += len(at_hand) - len(free)
            for start in range(0, len(free), AT_ONCE):
                some = free[start : start + AT_ONCE]
                found = gather(store, some[0].tenant, some)
                due = [pair for pair in zip(some, found, strict=True) if _still_due(*pair, now)]
                summary.returned += len(some) - len(due)
                if due:
                    yield due

    def _delete_announced(
        self,
        store: Store,
        receipts: Receipts,
        page: list[Due],
        marks: int,
        policy: Policy,
        judged_at: int,
        now: int,
        by: str,
    ) -> list[Due]:
        """Delete a page while other collectors place holds: of what may go by now, what other collectors see in time.

        `marks` is how many marks there were before anything was judged, which was done as of `judged_at`.
        """
        announcements = Announcements(store, self._log_number)
        announcements.begin(
            sorted({member.run_id for unit, _ in page for member in unit.members}), receipts.number
        )
        if number_of_marks(store) != marks:
            page = _free(store, page, policy, judged_at)
        if page:
            self._delete(store, receipts, page, now, by)
        announcements.end()
        return page

    def _delete(self, store: Store, receipts: Receipts, page: list[Due], now: int, by: str) -> list[Due]:
        tenant = page[0][0].tenant
        drafts = [receipt for unit, evidence in page for receipt in receipts_of(unit, evidence, now, by)]
        written = receipts.write(tenant, drafts)
        self._deleter.apply(store, tenant, [_deletion(receipt) for receipt in written])
        self._chains.note_applied(written[-1].number)
        return page

    def _finish(self, store: Store, report: Report) -> int:
        done = 0
        while True:
            asked = {"log": self._log_number, "number": self._chains.applied, "limit": AT_ONCE}
            rows = typed_rows(
                store, tuple[str, int, str, str, list[str], int, str], load("receipts_after"), asked
            )
            by_tenant: dict[str, list[Deletion]] = {}
            for tenant, _, what, subject, trace_ids, last_arrival, run_class in rows:
                if what != "segment":
                    deletion = _deletion_of(tenant, what, subject, run_class, tuple(trace_ids), last_arrival)
                    by_tenant.setdefault(deletion.tenant, []).append(deletion)
            for tenant, deletions in by_tenant.items():
                self._go_on()
                self._deleter.apply(store, tenant, deletions)
                done += len(deletions)
            if rows:
                self._chains.note_applied(rows[-1][1])
                report({"phase": "carrying out receipts", "done": done, "unit": "receipts"})
            if len(rows) < AT_ONCE:
                break
        if not self.alone and (announcements := Announcements(store, self._log_number)).stands:
            announcements.end()
        return done

    def _go_on(self) -> None:
        if self.stopping():
            raise WarehouseUnavailable(
                "The collector is stopping. Runs with a receipt are deleted; the next `retention apply` deletes the rest."
            )

    def _require_read(self, store: Store, report: Report) -> None:
        require_read(store, report, self._go_on, self._set_aside)

    def _require_clock(self, store: Store, now: int) -> None:
        ((arrived_at, deleted_at),) = typed_rows(store, tuple[int, int], load("newest_times"))
        for newest, what in (
            (arrived_at, "the newest record arrived"),
            (deleted_at, "the last deletion was"),
        ):
            if newest > now + _JITTER:
                raise ConfigError(
                    f"this machine's clock says {text_of(now)}, and {what} at {text_of(newest)}: ages counted "
                    "by a clock that was set back are wrong. Set the clock right."
                )


def _free(store: Store, page: list[Due], policy: Policy, now: int) -> list[Due]:
    """Return what of a page, all whole units or all payloads, is still due by the marks that there are now."""
    payloads = page[0][0].payloads
    judged = policy.payloads if payloads else policy
    if judged is None:
        return []
    units = Units(store, judged, now, payloads=payloads)
    pins = Pins.of(store, units)
    return [pair for pair in page if units.is_due_again(pair[0]) and not pins.hold(pair[0])]


def _still_due(unit: Unit, evidence: Evidence, now: int) -> bool:
    """Whether nothing came in that a run's own row does not know yet: ages count from the last arrival of all."""
    known = max(member.arrived_at for member in unit.members)
    return unit.due_at + max(0, evidence.last_arrival - known) <= now


def _deletion(receipt: Receipt) -> Deletion:
    return _deletion_of(
        receipt.tenant,
        receipt.what,
        receipt.subject,
        receipt.run_class,
        receipt.trace_ids,
        receipt.last_arrival,
    )


def _deletion_of(
    tenant: str, what: str, subject: str, run_class: str, trace_ids: tuple[str, ...], last_arrival: int
) -> Deletion:
    has_run = what == "run" or (what == "payloads" and run_class != OTHER)
    return Deletion(tenant, subject if has_run else "", trace_ids, last_arrival, what == "payloads")
