"""Helm over our chart, and the values it is tried with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart.fetched import helm_library
from chart.helm import Helm

VALUES: dict[str, Any] = {
    file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    for file in sorted((Path(__file__).parent / "values").glob("*.yaml"))
}


@pytest.fixture(scope="session")
def helm() -> Iterator[Helm]:
    """One engine for all tests; they are skipped, with the reason, where Helm cannot be had."""
    engine = Helm(helm_library())
    yield engine
    engine.close()
