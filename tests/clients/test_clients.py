"""What people read with, at pinned versions, against a real collector: each check of the table."""

from __future__ import annotations

import pytest
from clients.conftest import Scene
from clients.environments import told
from clients.table import CLIENTS, Client

#: Those that are built here in minutes, or that speak as another one does.
RARE = ("Jaeger's `api_v3`", "clickhouse-go", "clickhouse-jdbc")


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(
            client, id=client.name, marks=pytest.mark.soak if client.name in RARE else pytest.mark.long
        )
        for client in CLIENTS
    ],
)
def test_a_client_reads(scene: Scene, client: Client) -> None:
    expected = {name: got.format_map(scene.facts) for name, got in client.checks.items()}
    assert told(client.command(), getattr(scene.served, client.port)) == expected
