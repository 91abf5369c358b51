"""An interpreter over fresh tables."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse


@pytest.fixture
def interpreter(warehouse: EmbeddedWarehouse) -> Iterator[Interpreter]:
    running = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
    running.start()
    yield running
    running.stop()
