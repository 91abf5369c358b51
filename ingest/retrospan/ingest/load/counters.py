"""The loader's counters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class LoaderCounters:
    """What the loader has done since it started. `seconds` were spent inserting.

    `duplicates` are items that made no new row, as far as rows were counted: stored already, or in quarantine.
    """

    batches: int = 0
    records: int = 0
    items: int = 0
    bytes: int = 0
    duplicates: int = 0
    repeated: int = 0
    refused: int = 0
    failures: int = 0
    seconds: float = 0.0
