"""What runs cost, in the Python interface."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Generic, TypeVar

Frame = TypeVar("Frame")


class CostViews(Generic[Frame]):
    """Views of cost. Filters and `limit` are those of other lists."""

    def cost(
        self,
        *,
        run_id: str | None = None,
        agent_name: str | None = None,
        model: str | None = None,
        limit: int | None = None,
    ) -> Frame:
        """Return what each kind of tokens of model calls cost."""
        filters = {"run_id": run_id, "agent_name": agent_name, "model": model}
        return self._list("SELECT * FROM cost", filters, "ORDER BY at, run_id, model_call, bucket", limit)

    def prompt_shares(self, *, run_id: str | None = None, limit: int | None = None) -> Frame:
        """Return how much of a run's prompts each message fills, by estimate, the most first."""
        return self._list(
            "SELECT * FROM prompt_shares", {"run_id": run_id}, "ORDER BY run_id, share DESC", limit
        )

    @abstractmethod
    def _list(
        self, statement: str, filters: Mapping[str, str | None], order: str, limit: int | None
    ) -> Frame: ...
