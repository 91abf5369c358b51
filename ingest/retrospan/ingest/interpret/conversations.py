"""The runs around a run in its conversation: where a history that its producer left out is found again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from retrospan.ingest.interpret.normalize.message import Message
from retrospan.ingest.interpret.sql import load
from retrospan.schemas.store import Store


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
    _here: dict[str, dict[str, Past]] = field(default_factory=dict)
    _told: dict[str, dict[str, Past]] = field(default_factory=dict)
    _starts: dict[str, dict[str, int]] = field(default_factory=dict)

    def note(self, conversation: str, past: Past, *, is_kept: bool) -> None:
        """Remember a run of this batch, whose rows are not written yet. `is_kept` says that its API keeps the history."""
        self._told.setdefault(conversation, {})[past.run_id] = past
        if is_kept:
            self._here.setdefault(conversation, {})[past.run_id] = past

    def note_start(self, conversation: str, run_id: str, started_at: int) -> None:
        """Remember when a run of this batch began, whatever its API keeps."""
        self._starts.setdefault(conversation, {})[run_id] = started_at

    def run_before(self, conversation: str, run_id: str, started_at: int) -> str | None:
        """Return the latest other run of the conversation that started before, of whatever kind."""
        here = self._starts.get(conversation, {})
        earlier = [(began, other) for other, began in here.items() if other != run_id and began < started_at]
        rows = self.store.rows(
            load("run_before"),
            {"tenant": self.tenant, "conversation": conversation, "before": started_at, "run_id": run_id},
        )
        earlier += [(cast(int, began), cast(str, other)) for other, began in rows if other not in here]
        return max(earlier)[1] if earlier else None

    def previous(self, conversation: str, run_id: str, started_at: int, *, is_kept: bool) -> Past | None:
        """Return the latest other run of the conversation that started before: of those whose API keeps the history, or of all."""
        here = (self._here if is_kept else self._told).get(conversation, {})
        earlier = [past for past in here.values() if past.run_id != run_id and past.started_at < started_at]
        newest = max(earlier, key=lambda past: (past.started_at, past.run_id), default=None)
        found = self._stored("previous_run" if is_kept else "told_before", conversation, run_id, started_at)
        if found is not None and found[0] not in here:
            stored_id, began, generation, numbers = found
            if newest is None or (began, stored_id) > (newest.started_at, newest.run_id):
                return Past(stored_id, began, self._messages(stored_id, generation, numbers))
        return newest

    def _stored(
        self, question: str, conversation: str, run_id: str, started_at: int
    ) -> tuple[str, int, int, list[int]] | None:
        rows = self.store.rows(
            load(question),
            {"tenant": self.tenant, "conversation": conversation, "before": started_at, "run_id": run_id},
        )
        return cast(tuple[str, int, int, list[int]], tuple(rows[0])) if rows else None

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
