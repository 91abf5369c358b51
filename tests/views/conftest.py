"""The tables of `store` with every view over them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

import pytest
from story import Ask

from retrospan.ingest.answer.computed.given_rows import COMPUTED, given_rows
from retrospan.ingest.answer.questions import reading_less
from retrospan.ingest.answer.rewriting.inlining import inlined, placed
from retrospan.ingest.answer.rewriting.narrowing import narrowed
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
def ask(views: EmbeddedStore) -> Ask:
    """Run a SELECT with parameters, as the SQL port would; its rows as dictionaries.

    What the port rewrites must say what the statement itself says, and what it computes what the view says: of two
    compared runs only `ask_both` asks the view as well, as the engine plans that for seconds.
    """
    return partial(_rows, views, ("run_diff", "run_divergence"))


@pytest.fixture(scope="module")
def module_ask(module_views: EmbeddedStore) -> Ask:
    """Run a SELECT as `ask` does, over what the file's own fixture writes."""
    return partial(_rows, module_views, ("run_diff", "run_divergence"))


@pytest.fixture
def ask_both(views: EmbeddedStore) -> Ask:
    """Run a SELECT as `ask` does, and hold all that the port computes against the view."""
    return partial(_rows, views, ())


def _rows(
    views: EmbeddedStore, trusted: Collection[str], statement: str, **parameters: Any
) -> list[dict[str, Any]]:
    def read(statement: str, more: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        found = views.query(statement, {**parameters, **(more or {})}, output_format="JSONEachRow")
        return [json.loads(line) for line in found.splitlines()]

    with_places, calls = placed(statement, COMPUTED)
    computed = read(with_places, given_rows(views, calls, parameters)) if calls else None
    if computed is not None and any(call.view.name in trusted for call in calls):
        return computed
    found = read(inlined(statement))
    less = narrowed(inlined(reading_less(statement)), parameters)
    if less != inlined(statement):
        assert in_any_order(read(less)) == in_any_order(found)
    assert computed is None or in_any_order(computed) == in_any_order(found)
    return found


def in_any_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row) for row in rows)
