"""R08: the warehouse's disk fills. What is sent is still taken, questions are answered, and room mends it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import otlp_requests as make
import pytest
from fix_collector import Served
from torture.bounds import mount, small_disk

REQUESTS = 200


def body(number: int) -> bytes:
    """One span with 200 KB that do not compress."""
    text = "".join(hashlib.sha256(f"{number} {i}".encode()).hexdigest() for i in range(3200))
    span = make.span("large", span_id=number.to_bytes(8, "big"))
    span.attributes.add(key="text").value.string_value = text
    return make.traces(span).SerializeToString()


@pytest.mark.parametrize(
    ("small", "large"),
    [
        pytest.param("size=24m", "size=1g", id="bytes", marks=pytest.mark.soak),
        pytest.param(
            "size=1g,nr_inodes=100000", "size=1g,nr_inodes=100000", id="inodes", marks=pytest.mark.long
        ),
    ],
)
@pytest.mark.requirement("R08")
def test_a_disk_that_fills_under_the_tables_costs_no_span_and_mends_without_a_restart(
    tmp_path: Path, small: str, large: str
) -> None:
    warehouse = tmp_path / "data" / "warehouse"
    with small_disk(warehouse, small):
        collector = Served(tmp_path / "data", tmp_path / "stderr.txt")
        try:
            sent = 0
            if "inodes" in small:
                # As many as the empty tables take differs from release to release.
                taken = os.statvfs(warehouse).f_files - os.statvfs(warehouse).f_ffree
                assert mount("-o", f"remount,size=1g,nr_inodes={taken + 200}", str(warehouse)).returncode == 0

            def is_full() -> bool:
                nonlocal sent
                if sent < REQUESTS:
                    sent += 1
                    collector.send(traces=[body(sent)])
                return "loading stopped" in " ".join(collector.health()["reasons"])

            collector.until(is_full, 120.0)
            health = collector.health()
            assert health["status"] == "failing"
            collector.send(traces=[body(sent + 1)])
            collector.rows("SELECT count() FROM spans")
            assert mount("-o", f"remount,{large}", str(warehouse)).returncode == 0
            collector.until(lambda: not collector.health()["load_lag_records"], 120.0)
            collector.wait_idle()
            [row] = collector.rows(
                "SELECT toUInt32(count()) AS n, toUInt32(uniqExact(span_id)) AS u FROM spans"
            )
            assert (row["n"], row["u"]) == (sent + 1, sent + 1)
            health = collector.health()
            assert health["quarantine"] == 0
            assert collector.stop() == 0
        finally:
            collector.kill()
