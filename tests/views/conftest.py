"""The tables of `store` with every view over them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from story import Ask

from retrospan.ingest.answer.inlining import inlined
from retrospan.ingest.answer.narrowing import narrowed
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.queries.catalogue import install


@pytest.fixture
def views(store: EmbeddedStore) -> Iterator[EmbeddedStore]:
    install(store)
    yield store


@pytest.fixture
def ask(views: EmbeddedStore) -> Ask:
    """Run a SELECT with parameters, as the SQL port would; its rows as dictionaries."""

    def rows(statement: str, **parameters: Any) -> list[dict[str, Any]]:
        found = views.query(narrowed(inlined(statement), parameters), parameters, output_format="JSONEachRow")
        return [json.loads(line) for line in found.splitlines()]

    return rows
