"""A ClickHouse server over the engine of this process, as far as HTTP can tell."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from warehouse.engine_server import EngineServer

from retrospan.ingest.settings.server_address import parse_server
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.ingest.warehouse.server import ServerWarehouse


@pytest.fixture
def server(warehouse: EmbeddedWarehouse) -> Iterator[EngineServer]:
    """A server with every table there and empty."""
    running = EngineServer(warehouse, user="me", password="p@ss/word")
    yield running
    running.close()


def _reached(server: EngineServer, timeout_seconds: float) -> Iterator[ServerWarehouse]:
    address = parse_server(server.address, user="me", password="p@ss/word")
    opened = ServerWarehouse(address, timeout_seconds=timeout_seconds, log_number=3)
    yield opened
    opened.close()


@pytest.fixture
def remote(server: EngineServer) -> Iterator[ServerWarehouse]:
    """The server as the collector reaches it, with patience for a busy machine."""
    yield from _reached(server, 60.0)


@pytest.fixture
def impatient(server: EngineServer) -> Iterator[ServerWarehouse]:
    """The same, given up after a few seconds."""
    yield from _reached(server, 5.0)
