"""Who asks for a run that was deleted is told so, by its receipt, and not that there never was one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from retrospan.ingest.cli.client.references import find_run
from retrospan.ingest.cli.client.session import Session
from retrospan.schemas.errors import NotFound

RECEIPT = {
    "run_id": "case-7\x1b",
    "deleted_at": 1796062986638613201,
    "rule": "ok: 7d",
    "log": 2,
    "number": 31,
}


@pytest.mark.parametrize("typed", ["case-7", "c077a84187801a315c00a653822e16f3"])
def test_a_deleted_run_is_told_by_its_receipt(typed: str) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    def one(question: str, **values: Any) -> dict[str, Any] | None:
        asked.append((question, values))
        return RECEIPT if question == "deleted_runs" else None

    zone = SimpleNamespace(listed=lambda moment, now: "18:23:06")
    session = SimpleNamespace(one=one, ask=lambda question, **values: [], zone=zone, now=None)
    with pytest.raises(
        NotFound, match=r"was deleted \(18:23:06\) under the rule 'ok: 7d': receipt 31 of log 2"
    ) as said:
        find_run(cast(Session, session), typed)
    assert ("deleted_runs", {"prefix": typed}) in asked
    assert "\x1b" not in str(said.value)
