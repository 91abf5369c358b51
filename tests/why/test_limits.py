"""What a report says where not all rows were read, and where a run failed that no failure tells of. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from retrospan.ingest.why.report import report_of
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Sentence


def _row(**said: Any) -> defaultdict[str, Any]:
    """Return a row whose other columns are NULL."""
    return defaultdict(lambda: None, said)


def _told(rows: RunRows, chapter: str = "went_wrong") -> list[Sentence]:
    return [
        sentence
        for found in report_of(rows).chapters
        if found.name == chapter
        for sentence in found.sentences
    ]


def test_failed_calls_that_were_not_read_are_counted() -> None:
    rows = RunRows(_row(run_id="r", outcome="ok", started_at="2026-11-25T10:00:00Z", output="done"))
    rows.tools = [_row(kind="status", status="error", calls=90, tool_name="t", groups=1, first_ordinal=1)]
    rows.calls = [_row(ordinal=n, status="error", tool_name="t", asked_by=n) for n in range(1, 81)]
    said = [sentence for sentence in _told(rows) if sentence.kind == "more"]
    assert [sentence.text() for sentence in said] == [
        "Of 90 tool calls that failed the first 80 were looked at."
    ]
    rows.tools = [_row(kind="status", status="error", calls=80, tool_name="t", groups=1, first_ordinal=1)]
    assert not [sentence for sentence in _told(rows) if sentence.kind == "more"]


def test_a_run_that_failed_is_never_said_to_have_gone_well() -> None:
    rows = RunRows(_row(run_id="r", outcome="error", started_at="2026-11-25T10:00:00Z"))
    (failed,) = _told(rows)
    assert (failed.kind, failed.text()) == ("failed", "It failed, and no failure is on record.")
    assert [(basis.view, basis.is_there) for basis in failed.rests_on] == [
        ("runs", True),
        ("failures", False),
    ]
