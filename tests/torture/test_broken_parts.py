"""R13: a part of a table that is broken on disk is noticed, named, and derived again from the log."""

from __future__ import annotations

from pathlib import Path

import otlp_requests as make
import pytest
from fix_collector import Served


def parts(warehouse: Path, table: str, collector: Served) -> list[Path]:
    """The folders of a table's active parts."""
    rows = collector.rows(
        "SELECT path FROM system.parts WHERE active AND table = {table:String} AND rows > 0", table=table
    )
    return [
        Path(str(row["path"])) if Path(str(row["path"])).is_absolute() else warehouse / str(row["path"])
        for row in rows
    ]


@pytest.mark.parametrize(
    "table",
    [
        pytest.param("raw_spans", marks=pytest.mark.long),
        pytest.param("canon_model_calls", marks=pytest.mark.soak),
    ],
)
@pytest.mark.requirement("R13")
def test_a_part_broken_on_disk_turns_health_and_a_rebuild_brings_its_rows_back(
    served: Served, table: str
) -> None:
    spans = [make.span(f"chat {number}") for number in range(200)]
    served.send(traces=[make.traces(*spans).SerializeToString()])
    served.wait_idle()
    [before] = served.rows("SELECT count() AS n FROM spans")
    calls = served.rows("SELECT run_id, ordinal FROM model_calls ORDER BY run_id, ordinal")
    assert (int(before["n"]), len(calls)) == (200, 200)
    found = parts(served.data / "warehouse", table, served)
    assert found
    assert served.stop() == 0
    for part in found:
        for file in part.glob("*.bin"):
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    served.start()
    health = served.health()
    assert health["status"] != "ok", health
    assert table in " ".join(health["reasons"]), health["reasons"]
    served.run("rebuild")
    served.wait_idle()
    assert served.rows("SELECT count() AS n FROM spans") == [before]
    assert served.rows("SELECT run_id, ordinal FROM model_calls ORDER BY run_id, ordinal") == calls
