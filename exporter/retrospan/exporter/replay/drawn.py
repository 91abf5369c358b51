"""What the blocks under `deterministic()` of several runs drew, in the order in which they were begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrospan.schemas.bundle.form import Json, RunRecord


def drawn_in(runs: Sequence[RunRecord]) -> list[Mapping[str, Json]]:
    """Return what each block drew. A block around several runs is on record with each of them, and is one block."""
    found: list[Mapping[str, Json]] = []
    for run in sorted(runs, key=lambda run: run.started_at or 0):
        # Every block has a seed of its own: those that are equal are the same.
        found += [each for each in run.draws if each not in found]
    return found
