"""Tokens, tenants and limits at the port of Jaeger's API: those of the SQL port."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from access.conftest import NOW, STANDARD

from retrospan.ingest.access.gate import Gate
from retrospan.ingest.access.tenancy import Tenancy
from retrospan.ingest.access.tokens import TokenFile
from retrospan.ingest.answer.jaeger.port import JaegerPort
from retrospan.ingest.http.site import Site
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.store import Store

from .conftest import Asking

ANY = Address("127.0.0.1", 0)


@pytest.fixture
def tenants() -> list[str]:
    """Whose connections were asked for."""
    return []


@pytest.fixture
def guarded(warehouse: EmbeddedWarehouse, tmp_path: Path, tenants: list[str]) -> Iterator[Asking]:
    file = tmp_path / "tokens.toml"
    file.write_text(STANDARD, encoding="utf-8")

    def reader_of(tenant: str) -> Store:
        tenants.append(tenant)
        return warehouse.connect()

    gate = Gate(TokenFile(file, print), Tenancy(shared=True), now=lambda: NOW)
    port = JaegerPort(Site(ANY), limits=Limits(), reader_of=reader_of, gate=gate)
    yield Asking(f"127.0.0.1:{port.start()}")
    port.stop(5)


def test_the_right_to_read_is_needed(guarded: Asking, tenants: list[str]) -> None:
    missing = guarded("/api/services")
    assert (missing.status, missing.body["errors"][0]["code"]) == (401, 401)
    assert missing.headers["WWW-Authenticate"].startswith("Bearer")
    wrong = guarded("/api/v3/services", Authorization="Bearer nobody")
    assert (wrong.status, wrong.body["error"]["httpCode"]) == (401, 401)
    assert "nobody" not in str(wrong.body)
    assert guarded("/api/services", Authorization="Bearer Writer-1").status == 403
    assert guarded("/api/services", Authorization="Bearer Old-1").status == 401
    assert guarded("/api/services", ("password", "Reader-1")).status == 401
    assert tenants == []
    assert guarded("/api/services", Authorization="Bearer Reader-1").status == 200


def test_a_reader_is_given_the_connection_of_its_tenant(guarded: Asking, tenants: list[str]) -> None:
    basic = base64.b64encode(b"grafana:Other-1").decode()
    assert guarded("/api/services", Authorization="Bearer Reader-1").status == 200
    assert guarded("/api/dependencies", Authorization=f"Basic {basic}").status == 200
    assert guarded("/api/v3/services", Authorization="Bearer Other-1").status == 200
    assert tenants == ["default", "other", "other"]


def test_an_answer_that_takes_too_long_is_not_waited_for(warehouse: EmbeddedWarehouse) -> None:
    answered = threading.Event()

    def reader_of(tenant: str) -> Store:
        answered.wait(30)
        return warehouse.connect()

    port = JaegerPort(Site(ANY), limits=Limits(query_seconds=0.1), reader_of=reader_of)
    answer = Asking(f"127.0.0.1:{port.start()}")("/api/services")
    answered.set()
    port.stop(5)
    assert (answer.status, answer.body["errors"][0]["code"]) == (504, 504)
    assert "limit of 0.1 s" in answer.body["errors"][0]["msg"]
