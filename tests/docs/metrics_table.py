"""Writes the table of metrics into docs/operations.md: `python tests/docs/metrics_table.py`."""

from __future__ import annotations

import re
from pathlib import Path

from retrospan.ingest.status.metrics import METRICS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
_TABLE = re.compile(r"^\| Prometheus \|.*?(?=\n\n)|^METRICS_TABLE$", re.MULTILINE | re.DOTALL)


def table() -> str:
    """The table as the page shows it."""
    rows = ["| Prometheus | OpenTelemetry | kind | unit | meaning |", "|---|---|---|---|---|"]
    rows += [
        f"| `{metric.name}` | `{metric.otel_name}` | {metric.kind} | `{metric.unit}` | {metric.meaning} |"
        for metric in METRICS
    ]
    return "\n".join(rows)


def shown() -> str:
    """The table that the page shows now."""
    found = _TABLE.search(PAGE.read_text(encoding="utf-8"))
    return found[0] if found is not None else ""


if __name__ == "__main__":
    PAGE.write_text(_TABLE.sub(lambda _: table(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
