"""Typed reading of a row's columns: a column is what the contract says it is, or unknown (None)."""

from __future__ import annotations

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.terminal.moments import Moment
from retrospan.ingest.row_values import text_of, texts_of, whole

__all__ = ["moment_of", "number_of", "text_of", "texts_of", "whole"]


def number_of(row: Row, name: str) -> float | None:
    value = row[name]
    return float(value) if isinstance(value, int | float) else None


def moment_of(row: Row, name: str) -> Moment | None:
    value = row[name]
    return value if isinstance(value, Moment) else None
