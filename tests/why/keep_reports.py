"""Five reports as files, as they are mailed; this keeps them as they are now.

cd tests && python -m why.keep_reports
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from fix_why import serving_recordings

from retrospan.ingest.why.html_page import html_page

KEPT = Path(__file__).parent / "kept"
SCENARIOS = ("crash", "tool_error", "llm_error", "loop", "diverge_b")


def main() -> None:
    KEPT.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as directory,
        serving_recordings(Path(directory), ["langgraph-openinference"]) as recorded,
    ):
        for scenario in SCENARIOS:
            page = html_page(recorded.why(f"langgraph-openinference/{scenario}"), 600)
            (KEPT / f"{scenario}.html").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
