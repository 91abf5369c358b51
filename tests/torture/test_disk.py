"""R08: the warehouse's disk fills. What is sent is still taken, questions are answered, and room mends it."""

from __future__ import annotations

import hashlib
import os
import urllib.error
from contextlib import suppress
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
        pytest.param("size=56m", "size=1g", id="bytes", marks=pytest.mark.soak),
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


@pytest.mark.long
@pytest.mark.requirement("R08")
def test_a_collector_starts_on_a_full_disk_and_mends_without_a_restart(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text('[limits]\nlow_water_bytes = "8 MiB"\n')
    data = tmp_path / "data"
    with small_disk(data, "size=300m"):
        collector = Served(data, tmp_path / "stderr.txt", "--config", str(settings))
        try:
            collector.send(traces=[body(1)])
            collector.wait_idle()
            collector.kill()
            with (data / "filler").open("wb", buffering=0) as filler, suppress(OSError):
                while filler.write(bytes(4096)):
                    pass
            assert os.statvfs(data).f_bavail == 0
            collector.start()
            with pytest.raises(urllib.error.HTTPError, match="503") as refused:
                collector.post("/v1/traces", body(2), "application/x-protobuf")
            with refused.value:
                assert refused.value.headers["Retry-After"] == "1"
            assert [row["name"] for row in collector.rows("SELECT name FROM spans")] == ["large"]
            (data / "filler").unlink()
            collector.send(traces=[body(2)])
            collector.wait_idle()
            assert len(collector.rows("SELECT span_id FROM spans")) == 2
        finally:
            collector.kill()
