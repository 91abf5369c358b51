"""Five reports as files, as they are mailed.

cd tests && python -m why.keep_reports    # keep them as they are now
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fix_why import Recorded

from retrospan.ingest.why.html_page import html_page

KEPT = Path(__file__).parent / "kept"
SCENARIOS = ("crash", "tool_error", "llm_error", "loop", "diverge_b")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_report_is_what_was_kept(recorded: Recorded, scenario: str) -> None:
    page = html_page(recorded.why(f"langgraph-openinference/{scenario}"), 600)
    assert page == (KEPT / f"{scenario}.html").read_text(encoding="utf-8")
