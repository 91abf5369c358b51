"""What is known of one entity: read of the runs that speak of it, with the rows of the view."""

from __future__ import annotations

import pytest
from story import Story, tell, text

from retrospan.ingest.answer.rewriting.entity_first import entity_first
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.queries import catalogue
from retrospan.schemas import attributes as names

VIEWS = ("observations", "entity_timeline", "overwrites", "stale_reads")
OF_ONE = "entity_type = 'order' AND entity_id = '1'"
GIVEN: dict[str, str | int] = {"type": "order", "id": "1", "n": 1}


def of(kind: str, entity: str, **more: object) -> dict[str, object]:
    return {names.ENTITY_TYPE: kind, names.ENTITY_ID: entity, **more}


@pytest.fixture(scope="module")
def told(module_views: EmbeddedStore) -> EmbeddedStore:
    """Runs that read and write an order and others, one after the other; one was read again, one is gone."""
    stories: list[Story] = []
    for number in range(12):
        story = Story(f"run-{number}", started_at=1_790_000_000 * 10**9 + number * 60 * 10**9)
        story.hear(text("user", "go on"))
        story.model(text("assistant", "done"))
        story.model(text("assistant", "done again"))
        for kind, entity in (("order", "1"), ("customer", "1"), ("order", "2" if number % 2 else "it's")):
            if number % 3:
                story.event(names.USE, 2, of(kind, entity, **{names.FIELD: "state"}))
            changes = f'{{"state": "{number}", "by": "{number % 2}"}}'
            story.event(names.OBSERVATION, 1 + number % 2, of(kind, entity, **{names.CHANGES: changes}))
        stories.append(story)
    tell(module_views, *stories)
    module_views.command(
        "INSERT INTO canon_runs SELECT * REPLACE (generation + 1 AS generation, run_id = 'run-4' AS deleted)"
        " FROM canon_runs WHERE run_id IN ('run-3', 'run-4')"
    )
    module_views.command(
        "INSERT INTO canon_observations SELECT * REPLACE (generation + 1 AS generation) FROM canon_observations"
        " WHERE run_id = 'run-3' AND field = 'state'"
    )
    return module_views


def answer(store: EmbeddedStore, sql: str) -> str:
    """Names, types and rows."""
    used = {name: value for name, value in GIVEN.items() if f"{{{name}:" in sql}
    return store.query(sql, used, output_format="TSVWithNamesAndTypes").decode()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "rest",
    [
        f"WHERE {OF_ONE} ORDER BY ALL",
        "WHERE entity_id = {id:String} AND entity_type = {type:String} ORDER BY ALL",
        "WHERE entity_id = 'it\\'s' AND (field = 'state' OR field = 'by') ORDER BY ALL",
        "AS v WHERE NOT (field = 'by') AND `entity_id` = '1' ORDER BY ALL LIMIT 3",
        "WHERE entity_type = 'customer' AND entity_id = '1' AND entity_id = '2'",
        "WHERE entity_id = 'nothing'",
    ],
)
def test_the_rows_are_those_of_the_view(told: EmbeddedStore, view: str, rest: str) -> None:
    query = f"SELECT * FROM {view} {rest}"
    read = entity_first(query)
    assert read.count("run_id IN (SELECT run_id") == read.count("canon_runs FINAL") > 0
    assert answer(told, read) == answer(told, query)


@pytest.mark.parametrize("view", VIEWS)
def test_there_are_rows_to_compare(told: EmbeddedStore, view: str) -> None:
    assert len(told.rows(f"SELECT * FROM {view} WHERE {OF_ONE}")) > 2
    # Whatever reads the generations of all runs is told which.
    assert (
        entity_first(f"SELECT * FROM {view} WHERE {OF_ONE}").count("FROM canon_runs")
        == {
            "observations": 1,
            "entity_timeline": 1,
            "overwrites": 2,
            "stale_reads": 4,
        }[view]
    )


def test_within_another_select(told: EmbeddedStore) -> None:
    query = (
        f"SELECT field, n FROM (SELECT field, count() AS n FROM entity_timeline WHERE {OF_ONE} GROUP BY field)"
        f" WHERE n IN (SELECT count() FROM overwrites WHERE {OF_ONE} GROUP BY field) ORDER BY ALL"
    )
    assert entity_first(query).count("run_id IN (SELECT run_id") == 3
    assert answer(told, entity_first(query)) == answer(told, query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM overwrites ORDER BY ALL",
        "SELECT * FROM overwrites WHERE entity_type = 'order' ORDER BY ALL",
        "SELECT * FROM overwrites WHERE entity_id = '1' OR field = 'by' ORDER BY ALL",
        "SELECT * FROM overwrites WHERE field = 'by' OR entity_type = 'order' AND entity_id = '1' ORDER BY ALL",
        "SELECT * FROM overwrites WHERE NOT entity_id = '1' ORDER BY ALL",
        "SELECT * FROM overwrites WHERE entity_id != '1' ORDER BY ALL",
        "SELECT * FROM overwrites WHERE entity_id = '1' = 0 ORDER BY ALL",
        "SELECT * FROM overwrites WHERE entity_id = '1' || '' ORDER BY ALL",
        "SELECT * FROM overwrites WHERE entity_id = field ORDER BY ALL",
        "SELECT * FROM overwrites WHERE field = 'by' ? entity_id = '1' : 1 ORDER BY ALL",
        "SELECT * FROM overwrites WHERE if(field = 'by', entity_id = '1', 1) ORDER BY ALL",
        "SELECT * FROM overwrites WHERE CASE WHEN field = 'by' AND entity_id = '1' THEN 0 ELSE 1 END ORDER BY ALL",
        "SELECT * FROM overwrites WHERE 0 BETWEEN field = 'by' AND entity_id = '1' ORDER BY ALL",
        "SELECT * FROM overwrites WHERE entity_id = {n:UInt8} ORDER BY ALL",
        "SELECT '1' AS entity_id, field FROM overwrites WHERE entity_id = '1' ORDER BY ALL",
        "SELECT '1' entity_id, field FROM overwrites WHERE entity_id = '1' ORDER BY ALL",
        "SELECT field FROM overwrites HAVING entity_id = '1' ORDER BY ALL",
        "SELECT o.field FROM overwrites AS o, (SELECT '1' AS entity_id) AS e WHERE entity_id = '1' ORDER BY ALL",
        "SELECT o.field FROM overwrites AS o INNER JOIN runs USING (run_id) WHERE entity_id = '1' ORDER BY ALL",
        "SELECT field FROM overwrites WHERE entity_id = '1' UNION ALL SELECT field FROM overwrites",
        "SELECT run_id FROM runs WHERE run_id IN (SELECT run_id FROM overwrites) AND run_id = '1'",
        "SELECT field FROM (SELECT * FROM overwrites) WHERE entity_id = '1' ORDER BY ALL",
        "WITH overwrites AS (SELECT '1' AS entity_id) SELECT * FROM overwrites WHERE entity_id = '1'",
        "SELECT extract(YEAR FROM overwrites) FROM (SELECT today() AS overwrites, '1' AS entity_id) WHERE entity_id = '1'",
        "SELECT 'FROM overwrites WHERE entity_id = 1'",
        # A string is not a column, and this holds for every row.
        "SELECT * FROM overwrites WHERE 'entity_id' = 'entity_id' ORDER BY ALL",
        "SELECT * FROM overwrites.x WHERE entity_id = '1'",
        "SELECT * FROM overwrites(entity_id = '1') WHERE entity_id = '1'",
        # Each is looked at by itself, and they may be thousands.
        " UNION ALL ".join(5 * ["SELECT * FROM (SELECT * FROM overwrites WHERE entity_id = '1')"]),
        "EXPLAIN SELECT * FROM overwrites WHERE entity_id = '1'",
        "",
    ],
)
def test_all_else_is_left_as_it_is(query: str) -> None:
    assert entity_first(query) == query


def test_each_view_over_these_is_known() -> None:
    """A view about entities that is added reads generations of all runs, unless it is one of them."""
    about = {
        view.name
        for view in catalogue.views()
        if not view.parameters and {"entity_type", "entity_id"} <= {column.name for column in view.columns}
    }
    assert about == {*VIEWS}
