"""Who relied on a value that another run replaced, whatever was stated late or holds from an earlier time: as a slow oracle
says it."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import pytest
from spans import read_run
from state.oracle import Statement, changes, known, same, winner

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.span import Event, Span
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.ingest.warehouse.rows import insert_rows
from retrospan.queries.catalogue import install
from retrospan.schemas import attributes as names

SECOND = 10**9
BASE = 1_790_000_000  # seconds; 2026-09-21T14:13:20Z
FIELD = "x"


@dataclass(frozen=True)
class Said(Statement):
    run: int = 0
    said_at: int = 0

    @property
    def stated(self) -> int:
        return min(self.said_at, self.known_from)


@dataclass(frozen=True)
class Used:
    run: int
    at: int
    named: str = ""


@dataclass(frozen=True)
class Scene:
    entity: str
    said: tuple[Said, ...]
    used: tuple[Used, ...]


@pytest.fixture
def views(store: EmbeddedStore) -> EmbeddedStore:
    install(store)
    return store


def event_of(entity: str, one: Said | Used) -> Event:
    about: dict[str, object] = {names.ENTITY_TYPE: "limit", names.ENTITY_ID: entity}
    if isinstance(one, Used):
        named = {names.OBSERVATION_ID: one.named} if one.named else {}
        return Event(name=names.USE, time_ns=(BASE + one.at) * SECOND, attributes={**about, **named})
    about |= {
        names.CHANGES: json.dumps({one.field: one.value}),
        names.OBSERVATION_ID: one.id,
        names.VALID_FROM: f"2026-09-21T14:13:{20 + one.valid_from:02d}Z",
        names.PRIORITY: one.priority,
        names.CORRECTION: one.correction,
    }
    return Event(name=names.OBSERVATION, time_ns=(BASE + one.said_at) * SECOND, attributes=about)


def span_of(scene: Scene, number: int, one: Said | Used) -> Span:
    at = (BASE + (one.at if isinstance(one, Used) else one.said_at)) * SECOND
    return Span(
        trace_id=sha256(f"{scene.entity}-{one.run}".encode()).hexdigest()[:32],
        span_id=f"{number + 1:016x}",
        parent_span_id="",
        name="act",
        kind=1,
        flags=0,
        started_at=at,
        ended_at=at,
        status="ok",
        status_message="",
        scope="",
        scope_version="",
        attributes={},
        resource={},
        events=[event_of(scene.entity, one)],
        arrived_at=(BASE + (one.at if isinstance(one, Used) else one.known_from)) * SECOND,
    )


def told(store: EmbeddedStore, scenes: list[Scene]) -> None:
    found = Rows()
    for scene in scenes:
        of_run: dict[int, list[Span]] = {}
        acts: tuple[Said | Used, ...] = (*scene.said, *scene.used)
        for number, one in enumerate(acts):
            of_run.setdefault(one.run, []).append(span_of(scene, number, one))
        for run, spans in of_run.items():
            rows = rows_of(read_run(f"{scene.entity}-{run}", spans), "default", 1, None)
            assert rows.problems == []
            found.observations += rows.observations
            found.uses += rows.uses
            found.runs += rows.runs
    insert_rows(store, "canon_observations", found.observations)
    insert_rows(store, "canon_uses", found.uses)
    insert_rows(store, "canon_runs", found.runs)


def asked(store: EmbeddedStore) -> list[tuple[Any, ...]]:
    found = store.query(
        "SELECT run_id, toUnixTimestamp(read_at) AS read_at, value, observation_id, new_value, overwritten_by, "
        "overwritten_run_id, stale_when_read FROM stale_reads "
        "WHERE entity_type = 'limit'",
        {},
        output_format="JSONEachRow",
    )
    rows = map(json.loads, found.splitlines())
    return sorted((tuple({**row, "read_at": int(row["read_at"]) - BASE}.values()) for row in rows), key=str)


def believed(said: list[Said], at: int) -> Said | None:
    """The statement that the field was believed by at a time."""
    now = winner([one for one in said if one.stated <= at], FIELD, at)
    assert now is None or isinstance(now, Said)
    return now


def stale(scene: Scene) -> list[tuple[Any, ...]]:
    """What the view says, from its words: which value was read, and what another run put in its place."""
    said = [one for one in known(scene.said, 99) if isinstance(one, Said)]
    of_id = {one.id: one for one in said}
    history = changes(said)
    found = []
    for use in scene.used:
        read = of_id.get(use.named) if use.named else believed(said, use.at)
        if read is None:
            continue
        before = [change for change in history if change.at <= read.valid_from]
        after = [change for change in history if change.at > read.valid_from]
        instead = after[0] if after else None
        if before and not same(before[-1].new, read.value) and of_id[before[-1].by].stated >= read.stated:
            instead = before[-1]
        if instead is not None and of_id[instead.by].run != use.run:
            value, new = (None if each is None else json.dumps(each) for each in (read.value, instead.new))
            by = of_id[instead.by].run
            runs = (f"{scene.entity}-{use.run}", f"{scene.entity}-{by}")
            found.append((runs[0], use.at, value, read.id, new, instead.by, runs[1], instead.at <= use.at))
    return sorted(found, key=str)


def scene_of(entity: str, chance: random.Random) -> Scene:
    said = []
    for number in range(chance.randint(1, 7)):
        said_at = chance.randint(0, 9)
        said.append(
            Said(
                f"{entity}-o{number}",
                FIELD,
                chance.choice([None, 1, 2, 3]),
                chance.choice([said_at, chance.randint(0, 9)]),
                max(said_at + chance.choice([0, 1, 5, -3]), 0),
                chance.choice([0, 0, 0, 5]),
                chance.random() < 0.2,
                chance.randrange(3),
                said_at,
            )
        )
    used = []
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, 12)
        before = [one.id for one in said if one.said_at <= at]
        used.append(
            Used(
                chance.randrange(4),
                at,
                chance.choice(before) if before and chance.random() < 0.5 else "",
            )
        )
    return Scene(entity, tuple(said), tuple(dict.fromkeys(used)))


@pytest.mark.parametrize("seed", range(3))
def test_stale_reads_are_what_the_oracle_says(views: EmbeddedStore, seed: int) -> None:
    chance = random.Random(seed)
    scenes = [scene_of(f"s{number}", chance) for number in range(60)]
    told(views, scenes)
    found = asked(views)
    assert found == sorted((row for scene in scenes for row in stale(scene)), key=str)
    assert {True, False} == {row[-1] for row in found}
    assert len(found) > 25


@pytest.mark.parametrize("named", ["first", ""])
@pytest.mark.parametrize("valid_from", [9, 10, 12])
def test_a_correction_from_an_earlier_time_leaves_the_reader_with_what_was_wrong(
    views: EmbeddedStore, valid_from: int, named: str
) -> None:
    """Stated after the read, but holding before it: the reader cannot have read what nobody had stated yet."""
    said = (
        Said("first", FIELD, 100, 10, 10, run=0, said_at=10),
        Said("second", FIELD, 200, valid_from, 20, correction=True, run=2, said_at=20),
    )
    scene = Scene("e", said, (Used(1, 15, named),))
    told(views, [scene])
    expected = [("e-1", 15, "100", "first", "200", "second", "e-2", True)]
    assert asked(views) == expected == stale(scene)


def test_a_value_that_was_stated_again_before_the_read_is_not_stale(views: EmbeddedStore) -> None:
    """What was corrected later held between the two statements, and no more when it was read."""
    said = (
        Said("first", FIELD, 100, 10, 10, run=0, said_at=10),
        Said("again", FIELD, 100, 14, 14, run=0, said_at=14),
        Said("between", FIELD, 200, 12, 20, run=2, said_at=20),
    )
    scene = Scene("e", said, (Used(1, 15),))
    told(views, [scene])
    assert asked(views) == [] == stale(scene)
