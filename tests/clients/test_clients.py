"""What people read with, at pinned versions, against a real collector: each check of the table."""

from __future__ import annotations

import pytest
from clients.conftest import Scene
from clients.environments import told
from clients.table import CLIENTS, Client

pytestmark = pytest.mark.long


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_reads(scene: Scene, client: Client) -> None:
    expected = {name: got.format_map(scene.facts) for name, got in client.checks.items()}
    assert told(client.command(), getattr(scene.served, client.port)) == expected
