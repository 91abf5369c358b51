"""What is wrong with runs, in the Python interface."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Generic, TypeVar

Frame = TypeVar("Frame")


class FindingViews(Generic[Frame]):
    """Views of findings. Filters and `limit` are those of other lists."""

    def findings(
        self,
        *,
        run_id: str | None = None,
        rule: str | None = None,
        severity: str | None = None,
        agent_name: str | None = None,
        limit: int | None = None,
    ) -> Frame:
        """Return what rules found wrong with runs, by time."""
        filters = {"run_id": run_id, "rule": rule, "severity": severity, "agent_name": agent_name}
        order = "ORDER BY at, run_id, rule, step, explanation"
        return self._list("SELECT * FROM findings", filters, order, limit)

    def loops(
        self, *, run_id: str | None = None, tool_name: str | None = None, limit: int | None = None
    ) -> Frame:
        """Return loops: three or more equal tool calls in a row."""
        filters = {"run_id": run_id, "tool_name": tool_name}
        return self._list("SELECT * FROM loops", filters, "ORDER BY started_at, run_id, first_step", limit)

    @abstractmethod
    def _list(
        self, statement: str, filters: Mapping[str, str | None], order: str, limit: int | None
    ) -> Frame: ...
