"""Typed reading of a row's columns: a column is what the contract says it is, or unknown (None)."""

from __future__ import annotations

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.terminal.moments import Moment


def text_of(row: Row, name: str) -> str | None:
    value = row[name]
    return None if value is None else str(value)


def whole(row: Row, name: str) -> int | None:
    value = row[name]
    return value if isinstance(value, int) else None


def number_of(row: Row, name: str) -> float | None:
    value = row[name]
    return float(value) if isinstance(value, int | float) else None


def moment_of(row: Row, name: str) -> Moment | None:
    value = row[name]
    return value if isinstance(value, Moment) else None


def texts_of(row: Row, name: str) -> list[str]:
    value = row[name]
    return [str(element) for element in value] if isinstance(value, list) else []
