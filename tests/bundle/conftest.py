"""A warehouse with the views, and the hand-written runs behind a SQL port."""

from __future__ import annotations

import pytest
from fix_cli import ask, ask_empty, collector, empty_collector, terminal

from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.queries import catalogue


@pytest.fixture
def views(store: EmbeddedStore) -> EmbeddedStore:
    catalogue.install(store)
    return store


__all__ = ["ask", "ask_empty", "collector", "empty_collector", "terminal"]
