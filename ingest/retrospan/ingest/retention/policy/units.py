"""What is deleted or kept together: a run with all its traces, and with the other runs in these traces.

A trace without a run is a separate unit. Units are found page by page, in the order of their first run, so that
a warehouse of any size takes the same memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrospan.ingest.retention.policy.candidate import Candidate
from retrospan.ingest.retention.policy.policy import Policy
from retrospan.ingest.retention.sql import load
from retrospan.schemas.store import Parameters, Store
from retrospan.schemas.typed_rows import typed_rows

PAGE = 1000
_FAR = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What is due together: runs (or one trace), when it was due by its last member, and by which rule."""

    tenant: str
    members: tuple[Candidate, ...]
    trace_ids: tuple[str, ...]
    run_class: str
    rule: str
    due_at: int
    payloads: bool = False
    """Only payloads are due."""

    @property
    def what(self) -> str:
        if self.payloads:
            return "payloads"
        return "run" if self.members[0].is_run else "trace"


class Units:
    """Finds what is due at a time under a policy. Reads only."""

    def __init__(self, store: Store, policy: Policy, now: int, *, payloads: bool = False) -> None:
        """`now` is Unix nanoseconds. With `payloads` the policy is one of payloads, and what lost its own is left out."""
        self._store = store
        self._policy = policy
        self._now = now
        self._payloads = payloads

    def due(self) -> Iterator[list[Unit]]:
        """Yield pages of units that are due, each of one tenant."""
        shortest = self._policy.shortest
        if shortest is None:
            return
        before = self._now - shortest
        yield from self._runs(before)
        yield from self._traces()

    def chosen(self) -> Iterator[Candidate]:
        """Yield the runs that somebody chose to keep and that are not due."""
        for page in self._pages(chosen=True):
            for run in page:
                due_at = self._policy.judge(run).due_at
                if due_at is None or due_at > self._now:
                    yield run

    def is_due(self, unit: Unit) -> bool:
        """Return whether what another policy found is due by this one."""
        return self._unit(unit.tenant, list(unit.members)) is not None

    def is_due_again(self, unit: Unit) -> bool:
        """Return whether a unit is due by what is known of its runs now, flags and holds included."""
        if not unit.members[0].is_run:
            return self.is_due(unit)
        members = self._judged(unit.tenant, "", [member.run_id for member in unit.members])
        return len(members) == len(unit.members) and self._unit(unit.tenant, members) is not None

    def _runs(self, before: int) -> Iterator[list[Unit]]:
        for page in self._pages(before):
            by_tenant: dict[str, list[Candidate]] = {}
            for run in page:
                due_at = self._policy.judge(run).due_at
                if due_at is not None and due_at <= self._now:
                    by_tenant.setdefault(run.tenant, []).append(run)
            for owner, runs in by_tenant.items():
                if units := self._with_payloads(self._joined(owner, runs)):
                    yield units

    def _pages(self, before: int = _FAR, *, chosen: bool = False) -> Iterator[list[Candidate]]:
        """Yield runs whose last arrival is before a time, in order; with `chosen` only what is kept on purpose."""
        tenant, run_id = "", ""
        while page := self._judged(tenant, run_id, [], before, chosen):
            yield page
            if len(page) < PAGE:
                return
            tenant, run_id = page[-1].tenant, page[-1].run_id

    def _judged(
        self, tenant: str, run_id: str, run_ids: Sequence[str], before: int = _FAR, chosen: bool = False
    ) -> list[Candidate]:
        """Return the runs after one, or those of these ids, as the policy needs them."""
        asked: Parameters = {
            "tenant": tenant,
            "run_id": run_id,
            "run_ids": list(run_ids),
            "before": before,
            "chosen": chosen,
            "now": self._now,
            "limit": max(PAGE, len(run_ids)),
        }
        return typed_rows(self._store, Candidate, load("runs_judged"), asked)

    def _joined(self, tenant: str, runs: Sequence[Candidate]) -> list[Unit]:
        """Put each run together with those that share a trace with it; what is not due as a whole is left out.

        A unit is told of at its first run only.
        """
        known = {run.run_id: run for run in runs}
        lying = self._runs_of({trace for run in runs for trace in run.trace_ids}, tenant)
        units: list[Unit] = []
        for run in runs:
            members = self._members(run, known, lying)
            if min(member.run_id for member in members) != run.run_id:
                continue
            unit = self._unit(tenant, sorted(members, key=lambda member: member.run_id))
            if unit is not None:
                units.append(unit)
        return units

    def _members(
        self, run: Candidate, known: dict[str, Candidate], lying: dict[str, list[str]]
    ) -> list[Candidate]:
        members, waiting = {run.run_id: run}, [run]
        while waiting:
            at = waiting.pop()
            lacking = set(at.trace_ids) - lying.keys()
            if lacking:
                lying |= self._runs_of(lacking, run.tenant)
            others = {name for trace in at.trace_ids for name in lying.get(trace, [])} - members.keys()
            unknown = sorted(others - known.keys())
            if unknown:
                known |= {other.run_id: other for other in self._judged(run.tenant, "", unknown)}
            for name in others & known.keys():
                members[name] = known[name]
                waiting.append(known[name])
        return list(members.values())

    def _unit(self, tenant: str, members: list[Candidate]) -> Unit | None:
        verdicts = [self._policy.judge(member) for member in members]
        last = max(verdicts, key=lambda verdict: _FAR if verdict.due_at is None else verdict.due_at)
        if last.due_at is None or last.due_at > self._now:
            return None
        return Unit(
            tenant=tenant,
            members=tuple(members),
            trace_ids=tuple(sorted({trace for member in members for trace in member.trace_ids})),
            run_class=last.run_class,
            rule=last.rule,
            due_at=last.due_at,
            payloads=self._payloads,
        )

    def _with_payloads(self, units: list[Unit]) -> list[Unit]:
        """Units of one tenant; where payloads are looked for, only those of which something came in since theirs went."""
        if not units or not self._payloads:
            return units
        members = [member for unit in units for member in unit.members]
        asked = {"tenant": units[0].tenant, "names": [member.run_id for member in members]}
        bared = dict(typed_rows(self._store, tuple[str, int], load("bared"), asked))
        return [
            unit
            for unit in units
            if any(member.arrived_at > bared.get(member.run_id, -1) for member in unit.members)
        ]

    def _traces(self) -> Iterator[list[Unit]]:
        tenant, trace_id = "", ""
        while True:
            asked: Parameters = {"tenant": tenant, "trace_id": trace_id, "limit": PAGE}
            rows = typed_rows(self._store, tuple[str, str], load("traces_without_run"), asked)
            by_tenant: dict[str, list[str]] = {}
            for owner, name in rows:
                by_tenant.setdefault(owner, []).append(name)
            for owner, names in by_tenant.items():
                if units := self._with_payloads(self._runless(owner, names)):
                    yield units
            if len(rows) < PAGE:
                return
            tenant, trace_id = rows[-1]

    def _runless(self, tenant: str, trace_ids: list[str]) -> list[Unit]:
        asked = {"tenant": tenant, "trace_ids": trace_ids}
        units: list[Unit] = []
        for name, arrived_at in typed_rows(self._store, tuple[str, int], load("last_arrivals"), asked):
            trace = Candidate(
                tenant=tenant, run_id=name, arrived_at=arrived_at, trace_ids=(name,), is_run=False
            )
            if unit := self._unit(tenant, [trace]):
                units.append(unit)
        return units

    def _runs_of(self, traces: set[str], tenant: str) -> dict[str, list[str]]:
        asked = {"tenant": tenant, "trace_ids": sorted(traces)}
        found = dict(typed_rows(self._store, tuple[str, list[str]], load("runs_of_traces"), asked))
        return {trace: found.get(trace, []) for trace in traces}
