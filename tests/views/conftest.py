"""The tables of `store` with every view over them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from story import Ask

from retrospan.ingest.answer.computed.given_rows import COMPUTED, given_rows
from retrospan.ingest.answer.inlining import inlined, placed
from retrospan.ingest.answer.lean_views import lean
from retrospan.ingest.answer.narrowing import narrowed
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.queries.catalogue import install


@pytest.fixture
def views(store: EmbeddedStore) -> Iterator[EmbeddedStore]:
    install(store)
    yield store


@pytest.fixture(scope="module")
def module_views(module_warehouse: EmbeddedWarehouse) -> Iterator[EmbeddedStore]:
    """The same for a file whose tests only read what its own fixture writes."""
    connection = module_warehouse.connect()
    install(connection)
    yield connection
    connection.close()


@pytest.fixture
def ask(views: EmbeddedStore, request: pytest.FixtureRequest) -> Ask:
    """Run a SELECT with parameters, as the SQL port would; its rows as dictionaries.

    What the port rewrites must say what the statement itself says. What it computes must say what the view says: long
    tests ask both, as the engine plans such a view for seconds.
    """
    is_long = request.node.get_closest_marker("long") is not None

    def read(statement: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        found = views.query(statement, parameters, output_format="JSONEachRow")
        return [json.loads(line) for line in found.splitlines()]

    def rows(statement: str, **parameters: Any) -> list[dict[str, Any]]:
        with_places, calls = placed(statement, COMPUTED)
        computed: list[dict[str, Any]] | None = None
        if calls:
            computed = read(with_places, {**parameters, **given_rows(views, calls, parameters)})
            if not is_long:
                return computed
        found = read(inlined(statement), parameters)
        less = narrowed(inlined(lean(statement)), parameters)
        if less != inlined(statement):
            assert in_any_order(read(less, parameters)) == in_any_order(found)
        assert computed is None or in_any_order(computed) == in_any_order(found)
        return found

    return rows


def in_any_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row) for row in rows)
