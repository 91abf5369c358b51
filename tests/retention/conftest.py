"""A keeper over fresh tables and a directory of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from keeping import Keeper

from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse


@pytest.fixture
def keeper(warehouse: EmbeddedWarehouse, tmp_path: Path) -> Iterator[Keeper]:
    made = Keeper(warehouse, tmp_path)
    yield made
    made.close()
