"""The runs around a run in its conversation: where a history that its producer left out is found again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.sql import load
from retrospan.schemas.store import Store

#: Run id, start (Unix ns), generation, numbers of the messages it had come to.
_Stored: TypeAlias = tuple[str, int, int, list[int]]


@dataclass(frozen=True, slots=True)
class Past:
    """An earlier run's final history."""

    run_id: str
    started_at: int
    history: list[Message]


@dataclass(slots=True)
class Conversations:
    """Previous runs, from those interpreted in this batch and, behind them, from the warehouse."""

    store: Store
    tenant: str
    _runs: dict[str, dict[str, Past]] = field(default_factory=dict)
    _kept: set[str] = field(default_factory=set)

    def note(self, conversation: str, past: Past, *, is_kept: bool) -> None:
        """Remember a run of this batch, whose rows are not written yet. `is_kept` says that its API keeps the history."""
        self._runs.setdefault(conversation, {})[past.run_id] = past
        if is_kept:
            self._kept.add(past.run_id)

    def run_before(self, conversation: str, run_id: str, started_at: int) -> str | None:
        """Return the latest other run of the conversation that started before, of whatever kind."""
        newest, stored = self._latest(conversation, run_id, started_at, kept_only=False)
        if stored is not None:
            return stored[0]
        return newest.run_id if newest else None

    def previous(self, conversation: str, run_id: str, started_at: int, *, kept_only: bool) -> Past | None:
        """Return the latest other run of the conversation that started before: of those whose API keeps the history, or of all."""
        newest, stored = self._latest(conversation, run_id, started_at, kept_only=kept_only)
        if stored is None:
            return newest
        stored_id, began, generation, numbers = stored
        return Past(stored_id, began, self._messages(stored_id, generation, numbers))

    def _latest(
        self, conversation: str, run_id: str, started_at: int, *, kept_only: bool
    ) -> tuple[Past | None, _Stored | None]:
        """Return the latest run of this batch, and that of the warehouse where it is later and not in this batch."""
        here = {
            past.run_id: past
            for past in self._runs.get(conversation, {}).values()
            if not kept_only or past.run_id in self._kept
        }
        earlier = [past for past in here.values() if past.run_id != run_id and past.started_at < started_at]
        newest = max(earlier, key=lambda past: (past.started_at, past.run_id), default=None)
        rows = self.store.rows(
            load("previous_run"),
            {
                "tenant": self.tenant,
                "conversation": conversation,
                "before": started_at,
                "run_id": run_id,
                "kept_only": int(kept_only),
            },
        )
        stored = cast(_Stored, tuple(rows[0])) if rows else None
        if stored is None or stored[0] in here:
            return newest, None
        is_later = newest is None or (stored[1], stored[0]) > (newest.started_at, newest.run_id)
        return newest, stored if is_later else None

    def _messages(self, run_id: str, generation: int, numbers: list[int]) -> list[Message]:
        if not numbers:
            return []
        rows = self.store.rows(
            load("messages_by_number"),
            {
                "tenant": self.tenant,
                "run_id": run_id,
                "generation": generation,
                "numbers": sorted(set(numbers)),
            },
        )
        texts = {cast(int, number): cast(str, text) for number, text in rows}
        return [json.loads(texts[number]) for number in numbers]

    def leaning(self, after: Mapping[str, int]) -> list[tuple[str, list[str]]]:
        """Return (run id, trace ids) of runs that lean on the run before them and began `after` what is given for their
        conversation, by conversation."""
        rows = self.store.rows(load("runs_leaning"), {"tenant": self.tenant, "conversations": sorted(after)})
        return [
            (cast(str, run_id), cast("list[str]", trace_ids))
            for run_id, trace_ids, conversation, started_at in rows
            if cast(int, started_at) > after[cast(str, conversation)]
        ]
