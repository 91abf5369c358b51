"""Entities in two times: whatever was said, late or twice or in whichever order, is what a slow oracle says it is."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spans import read_run
from state.oracle import Statement, changes, known, state

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.span import Event, Span
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.ingest.warehouse.rows import insert_rows
from retrospan.queries.catalogue import install
from retrospan.schemas import attributes as names

SECOND = 10**9
BASE = 1_790_000_000  # seconds; 2026-09-21
RUNS = 3
_NUMBERS = count()


@st.composite
def statements(draw: st.DrawFn) -> list[Statement]:
    """Statements about one entity: few times, values and priorities, so that they tie; some are said again."""
    ids = draw(st.permutations([f"o{number}" for number in range(12)]))
    said: list[Statement] = []
    for number in range(draw(st.integers(1, 12))):
        if said and draw(st.integers(0, 4)) == 0:
            again = draw(st.sampled_from(said))
            said.append(Statement(**{**vars(again), "known_from": draw(st.integers(0, 4))}))
            continue
        said.append(
            Statement(
                ids[number],
                draw(st.sampled_from(["x", "y"])),
                draw(st.sampled_from([None, 1, 1.0, True, 2, "a", {"k": [1]}])),
                draw(st.integers(0, 4)),
                draw(st.integers(0, 4)),
                draw(st.sampled_from([0, 0, 0, -1, 5, 1500])),
                draw(st.integers(0, 5)) == 0,
            )
        )
    return said


def span_of(entity: str, number: int, one: Statement) -> Span:
    """A span that makes one statement and arrived when the statement became known."""
    said: dict[str, object] = {
        names.ENTITY_TYPE: "grid",
        names.ENTITY_ID: entity,
        names.CHANGES: json.dumps({one.field: one.value}),
        names.OBSERVATION_ID: one.id,
        names.VALID_FROM: f"2026-09-21T14:13:{20 + one.valid_from:02d}Z",
        names.PRIORITY: one.priority,
        names.CORRECTION: one.correction,
    }
    return Span(
        trace_id=f"{hash(entity) & 0xFFFF:032x}",
        span_id=f"{number + 1:016x}",
        parent_span_id="",
        name="say",
        kind=1,
        flags=0,
        started_at=BASE * SECOND + number,
        ended_at=BASE * SECOND + number,
        status="ok",
        status_message="",
        scope="",
        scope_version="",
        attributes={},
        resource={},
        events=[Event(name=names.OBSERVATION, time_ns=0, attributes=said)],
        arrived_at=(BASE + one.known_from) * SECOND,
    )


def rows_about(entity: str, said: list[Statement], seed: int) -> Iterator[Rows]:
    """The rows of the runs that say it, in any order; of each run an older generation as well, which knew less."""
    spans = [span_of(entity, number, one) for number, one in enumerate(said)]
    chance = random.Random(seed)
    chance.shuffle(spans)
    for run in range(RUNS):
        own = [span for span in spans if int(span.span_id, 16) % RUNS == run]
        for generation in chance.sample([1, 2], 2):
            seen = own if generation == 2 else own[: len(own) // 2]
            if seen:
                yield rows_of(read_run(f"{entity}-{run}", seen), "default", generation, None)


def told(store: EmbeddedStore, entities: dict[str, list[Statement]], seed: int) -> None:
    observations, runs = [], []
    for entity, said in entities.items():
        for rows in rows_about(entity, said, seed):
            assert rows.problems == []
            observations += rows.observations
            runs += rows.runs
    random.Random(seed).shuffle(observations)
    half = len(observations) // 2
    insert_rows(store, "canon_observations", observations[:half])
    insert_rows(store, "canon_observations", observations[half:])
    insert_rows(store, "canon_runs", runs)


def asked(store: EmbeddedStore, statement: str) -> list[dict[str, Any]]:
    found = store.query(statement, {}, output_format="JSONEachRow")
    return [json.loads(line) for line in found.splitlines()]


def moment(second: int | None) -> str:
    return "" if second is None else str(BASE + second)


def check(
    store: EmbeddedStore, scenes: list[list[Statement]], at: int | None, known_at: int | None, seed: int
) -> None:
    entities = {f"e{next(_NUMBERS)}": said for said in scenes}
    told(store, entities, seed)
    listed = ", ".join(f"'{entity}'" for entity in entities)
    calls = " UNION ALL ".join(
        f"SELECT '{entity}' AS entity, field, value, introduced_by, last_asserted_by, toUnixTimestamp(since) AS since "
        f"FROM entity_state(entity_type = 'grid', entity_id = '{entity}', at = '{moment(at)}', "
        f"known_at = '{moment(known_at)}')"
        for entity in entities
    )
    states: dict[str, dict[str, tuple[object, ...]]] = {entity: {} for entity in entities}
    for row in asked(store, calls):
        held = (row["introduced_by"], row["last_asserted_by"], int(row["since"]) - BASE)
        states[row["entity"]][row["field"]] = (canonical(json.loads(row["value"])), *held)
    timelines: dict[str, list[tuple[object, ...]]] = {entity: [] for entity in entities}
    for row in asked(
        store,
        "SELECT entity_id, field, old_value, new_value, toUnixTimestamp(at) AS at, observation_id FROM entity_timeline "
        f"WHERE entity_type = 'grid' AND entity_id IN ({listed}) ORDER BY at, field",
    ):
        old, new = (
            None if row[side] is None else json.loads(row[side]) for side in ("old_value", "new_value")
        )
        at_second = int(row["at"]) - BASE
        timelines[row["entity_id"]].append(
            (row["field"], canonical(old), canonical(new), at_second, row["observation_id"])
        )
    for entity, said in entities.items():
        expected = state(said, 99 if at is None else at, 99 if known_at is None else known_at)
        assert states[entity] == {
            field: (canonical(held.value), held.introduced_by, held.last_asserted_by, held.since)
            for field, held in expected.items()
        }
        assert timelines[entity] == [
            (change.field, canonical(change.old), canonical(change.new), change.at, change.by)
            for change in changes(known(said, 99))
        ]


def canonical(value: object) -> str:
    """Text that is equal for what JSON calls equal."""
    return json.dumps(int(value) if isinstance(value, float) else value)


POINTS = st.one_of(st.none(), st.integers(0, 4))
SCENES = st.lists(statements(), min_size=1, max_size=4)
ENOUGH = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large)


@pytest.mark.long
@settings(max_examples=20, deadline=None, database=None, suppress_health_check=ENOUGH)
@given(scenes=SCENES, at=POINTS, known_at=POINTS, seed=st.integers(0, 2**32))
def test_the_grid_is_what_the_oracle_says(
    views: EmbeddedStore, scenes: list[list[Statement]], at: int | None, known_at: int | None, seed: int
) -> None:
    check(views, scenes, at, known_at, seed)


@pytest.mark.soak
@settings(max_examples=500, deadline=None, database=None, suppress_health_check=ENOUGH)
@given(scenes=SCENES, at=POINTS, known_at=POINTS, seed=st.integers(0, 2**32))
def test_the_grid_over_500_examples(
    views: EmbeddedStore, scenes: list[list[Statement]], at: int | None, known_at: int | None, seed: int
) -> None:
    check(views, scenes, at, known_at, seed)


def test_a_question_about_one_entity_reads_nothing_of_the_others(views: EmbeddedStore) -> None:
    """The filter reaches the key of the table, through the windows of the view."""
    told(views, {"one": [Statement("o", "x", 1, 0, 0)]}, 1)
    for asked_of in (
        "entity_timeline WHERE entity_type = 'grid' AND entity_id = 'one'",
        "overwrites WHERE entity_type = 'grid' AND entity_id = 'one'",
        "entity_state(entity_type = 'grid', entity_id = 'one', at = '', known_at = '')",
    ):
        plan = "\n".join(
            str(row[0]) for row in views.rows(f"EXPLAIN indexes = 1 SELECT field FROM {asked_of}")
        )
        read = plan[plan.index("canon_observations") :]
        assert "PrimaryKey" in read and "entity_id in ['one', 'one']" in read, plan


@pytest.fixture
def views(store: EmbeddedStore) -> EmbeddedStore:
    install(store)
    return store
