"""Which traces the histories of some lead to: those of the same turns, wherever they are. Both processes ask.

A trace that goes on from a history is of one turn with a trace that ends with it. Traces that only have a beginning in
common, as agents that are asked the same again, or only an end, lead nowhere, and are not read with each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from retrospan.ingest.interpret.grouping.equal_histories import MOST_EQUAL
from retrospan.ingest.interpret.sql import load
from retrospan.schemas.sequences import Newest
from retrospan.schemas.store import Store
from retrospan.schemas.typed_rows import typed_rows


@dataclass(frozen=True, slots=True)
class ToldHistories:
    """Hashes of the histories that some traces go on from, and of those they end with.

    `inside` are of the first, apart: turns that are told in parts, which nothing ends with but a span that tells them whole.
    `answers` are what requests gave, `retold` what traces retell of requests that they do not tell.
    """

    goes_on_from: frozenset[str] = frozenset()
    inside: frozenset[str] = frozenset()
    ends_with: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()
    retold: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        """Those of histories."""
        return self.goes_on_from | self.inside | self.ends_with

    @classmethod
    def together(cls, told: Iterable[ToldHistories]) -> ToldHistories:
        """Return what several tell."""
        some = [*told]
        return cls(
            frozenset[str]().union(*(one.goes_on_from for one in some)),
            frozenset[str]().union(*(one.inside for one in some)),
            frozenset[str]().union(*(one.ends_with for one in some)),
            frozenset[str]().union(*(one.answers for one in some)),
            frozenset[str]().union(*(one.retold for one in some)),
        )


class StoredHistories(NamedTuple):
    """What the warehouse knows of a trace: it ends with `ends_with`, and it goes on from `goes_on_from` or ends with that
    in full."""

    trace_id: str
    run_ids: list[str]
    goes_on_from: str
    ends_with: str


class StoredAnswers(NamedTuple):
    """What the warehouse knows of a trace that retells answers or gave them: those that were asked for are `told`."""

    trace_id: str
    run_ids: list[str]
    told: list[str]


def traces_of_histories(
    store: Store, tenant: str, told: ToldHistories, known: Collection[str]
) -> dict[str, Newest]:
    """Return the traces that the histories of those in `known` lead to, with all of their runs: trace id → newest records."""
    found = {row.trace_id: row.run_ids for row in _related(store, tenant, told, known)}
    found |= {row.trace_id: row.run_ids for row in _retelling(store, tenant, told)}
    if found.keys() <= {*known}:
        return {}
    named: dict[str, str | int | Sequence[str]] = {
        "tenant": tenant,
        "trace_ids": sorted(found),
        "run_ids": sorted({run_id for run_ids in found.values() for run_id in run_ids}),
    }
    rows = typed_rows(store, tuple[str, list[int]], load("traces_with_runs"), named)
    return {trace_id: tuple(through) for trace_id, through in rows if trace_id not in known}


def leading(store: Store, tenant: str, told: Mapping[str, ToldHistories], known: Collection[str]) -> set[str]:
    """Return which of the traces in `known`, of which each tells what is `told` of it, lead to others. What does not lead
    anywhere can be read without these."""
    both = ToldHistories.together(told.values())
    if not traces_of_histories(store, tenant, both, known):
        return set()
    hashes: set[str] = set()
    for row in _related(store, tenant, both, known):
        hashes |= {row.goes_on_from, row.ends_with}
    for retelling in _retelling(store, tenant, both):
        if retelling.trace_id not in known:
            hashes.update(retelling.told)
    found = {
        trace_id
        for trace_id, one in told.items()
        if not hashes.isdisjoint(one.all) or not hashes.isdisjoint(one.answers | one.retold)
    }
    # It is by a run of theirs that they lead somewhere: of which of them is not looked at.
    return found or {*known}


def _related(store: Store, tenant: str, told: ToldHistories, known: Collection[str]) -> list[StoredHistories]:
    """Return the traces apart from those that are known that are of one turn with traces that tell this."""
    stored = _stored(store, tenant, told.goes_on_from | told.ends_with, told.all, known)
    # Turns that are told in parts again and again are looked at only where something tells one whole.
    whole = told.inside & {row.ends_with for row in stored}
    stored += _stored(store, tenant, whole - told.ends_with, frozenset(), known)
    return related(told, stored)


def _stored(
    store: Store,
    tenant: str,
    begun: AbstractSet[str],
    ended: AbstractSet[str],
    known: Collection[str],
) -> list[StoredHistories]:
    """Return the traces, apart from those that are known, that go on from one of the first or end with one of the others."""
    if not (begun or ended):
        return []
    asked: dict[str, str | int | Sequence[str]] = {
        "tenant": tenant,
        "begun": sorted(begun),
        "ended": sorted(ended),
        "most": MOST_EQUAL + 1,
    }
    rows = typed_rows(store, StoredHistories, load("traces_with_histories"), asked)
    return [row for row in rows if row.trace_id not in known]


def _retelling(store: Store, tenant: str, told: ToldHistories) -> list[StoredAnswers]:
    """Return the traces that retell some answers, and those that gave what is retold here, with their runs."""
    if not (told.answers or told.retold):
        return []
    asked: dict[str, str | int | Sequence[str]] = {
        "tenant": tenant,
        "answers": sorted(told.answers),
        "retold": sorted(told.retold),
        "most": MOST_EQUAL + 1,
    }
    return typed_rows(store, StoredAnswers, load("traces_retelling"), asked)


def related(told: ToldHistories, stored: Iterable[StoredHistories]) -> list[StoredHistories]:
    """Return which of the others matter to traces that tell this: those of histories that one goes on from and one ends
    with."""
    rows = list(stored)
    first = {row.goes_on_from for row in rows}
    going = told.goes_on_from | told.inside | first
    ending = told.ends_with | {row.ends_with for row in rows} | (first - told.inside)
    both = told.all & going & ending
    return [row for row in rows if row.goes_on_from in both or row.ends_with in both]
