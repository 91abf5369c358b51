"""Runs that must be kept because a run that a person chose to keep depends on them.

Provenance is walked from the held, flagged and golden runs to what they used, over edges that are stated or matched by
id. What was only inferred from equal content pins nothing, and neither does a run that once said the same: a message is
one of its own run, or else of the run of the same conversation that made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from retrospan.ingest.retention.policy.units import Unit, Units
from retrospan.ingest.retention.sql import load
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_column, typed_rows

_AT_ONCE = 200
_THINGS_AT_ONCE = 2000


class Pins:
    """The runs that stay, by tenant: those that were chosen and all that they rest on."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[str, set[str]] = {}

    @classmethod
    def of(cls, store: Store, units: Units) -> Pins:
        """Walk from every run that was chosen and is not due."""
        pins = cls(store)
        roots: dict[str, list[str]] = {}
        for run in units.chosen():
            roots.setdefault(run.tenant, []).append(run.run_id)
        for tenant, run_ids in roots.items():
            pins._kept[tenant] = pins._closure(tenant, run_ids)
        return pins

    def rested_on(self, tenant: str, run_ids: Iterable[str]) -> set[str]:
        """Return what stays if these runs do: they, and all that they rest on."""
        return self._closure(tenant, list(run_ids))

    def hold(self, unit: Unit) -> bool:
        """Return whether something that is kept rests on the unit."""
        kept = self._kept.get(unit.tenant)
        return kept is not None and not kept.isdisjoint(member.run_id for member in unit.members)

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    def _closure(self, tenant: str, roots: list[str]) -> set[str]:
        kept: set[str] = set()
        waiting = list(dict.fromkeys(roots))
        while waiting:
            frontier, waiting = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
            kept.update(frontier)
            found = self._leaned_on(tenant, frontier)
            found |= set(self._ask("runs_that_answered", tenant, run_ids=frontier))
            things = self._ask("rests_on", tenant, run_ids=frontier)
            found |= self._named(tenant, things)
            for some in _slices(things):
                found |= set(self._ask("runs_that_made", tenant, things=some))
            found |= self._joined(tenant, sorted(found))
            waiting += sorted(found - kept - set(waiting))
        return kept

    def _leaned_on(self, tenant: str, run_ids: list[str]) -> set[str]:
        return set(self._ask("leaned_on", tenant, run_ids=run_ids))

    def _joined(self, tenant: str, run_ids: list[str]) -> set[str]:
        """Return the runs that traces belong to by now which were runs when something was said to rest on them."""
        asked = {"tenant": tenant, "trace_ids": run_ids}
        rows = typed_rows(self._store, tuple[str, list[str]], load("runs_of_traces"), asked)
        return {run_id for _, now in rows for run_id in now}

    def _named(self, tenant: str, things: Iterable[str]) -> set[str]:
        """Return the runs that references name themselves: a run, a step of one, a span."""
        named: set[str] = set()
        spans: list[tuple[str, str]] = []
        for thing in things:
            kind, _, rest = thing.partition(":")
            if kind == "run":
                named.add(unquote(rest))
            elif kind == "step":
                named.add(unquote(rest.rpartition("/")[0]))
            elif kind == "span" and "/" in rest:
                trace_id, _, span_id = rest.partition("/")
                spans.append((trace_id, span_id))
        for start in range(0, len(spans), _THINGS_AT_ONCE):
            some = spans[start : start + _THINGS_AT_ONCE]
            named |= set(
                self._ask(
                    "runs_of_spans",
                    tenant,
                    trace_ids=[pair[0] for pair in some],
                    span_ids=[pair[1] for pair in some],
                )
            )
        return named

    def _ask(self, question: str, tenant: str, **lists: list[str]) -> list[str]:
        return typed_column(self._store, str, load(question), {"tenant": tenant, **lists})


def _slices(things: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(things), _THINGS_AT_ONCE):
        yield things[start : start + _THINGS_AT_ONCE]
