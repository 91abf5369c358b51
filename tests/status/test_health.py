"""/health: the status follows from the facts, each reason names its number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from retrospan.ingest.status.health import Facts, report

WELL = Facts(log_bytes=10, log_limit_bytes=100, disk_free_bytes=50, low_water_bytes=20, rejects=3)


def test_all_well_is_ok_and_shows_the_facts() -> None:
    page = report(WELL)
    assert (page["status"], page["reasons"]) == ("ok", [])
    assert (page["log_bytes"], page["rejects"], page["load_lag_seconds"]) == (10, 3, 0.0)


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"log_failure": "fsync failed"}, "failing", "fsync failed"),
        ({"log_bytes": 100}, "failing", "has reached its limit of 100 bytes"),
        ({"disk_free_bytes": 19}, "failing", "low-water mark of 20"),
        ({"load_failure": "no disk"}, "failing", "loading stopped: no disk"),
        ({"log_bytes": 95}, "degraded", "95 of 100 bytes"),
        ({"recovery_cut_bytes": 7}, "degraded", "7 bytes were cut"),
        ({"recovery_damaged_bytes": 8}, "degraded", "8 bytes of the log are damaged"),
        ({"recovery_lost_records": 9}, "degraded", "9 records of the log are lost"),
        ({"clock_behind_seconds": 301.0}, "degraded", "clock is 301 s behind the last arrival"),
        ({"log_sync_seconds": 3.5}, "degraded", "takes 3.5 s to confirm a write"),
        ({"load_lag_seconds": 61.0, "load_lag_records": 5}, "degraded", "61 s and 5 records behind"),
        (
            {"interpretation_lag_seconds": 62.0, "interpretation_lag_traces": 6},
            "degraded",
            "62 s and 6 traces",
        ),
        ({"interpretation_broken": 7}, "degraded", "7 times since startup a run could not be interpreted"),
        (
            {"interpretation_failure": "no table"},
            "degraded",
            "interpretation stopped, and is retried: no table",
        ),
        ({"quarantine": 1}, "degraded", "1 records could not be loaded"),
        ({"engine_failure": "out of memory"}, "failing", "does not answer: out of memory"),
        ({"detached_parts": 2}, "failing", "2 parts of tables are broken"),
        (
            {"detached_parts": 2, "table_complaint": "5 rows of raw_spans are missing"},
            "failing",
            "5 rows of raw",
        ),
        ({"access_complaint": "the certificate ended"}, "degraded", "access: the certificate ended"),
        ({"pending_migrations": 3}, "degraded", "3 migrations are pending"),
    ],
)
def test_each_trouble_is_named(change: dict[str, object], status: str, said: str) -> None:
    page = report(replace(WELL, **change))  # type: ignore[arg-type]
    assert page["status"] == status
    assert said in str(page["reasons"])


def test_failures_come_before_concerns() -> None:
    page = report(replace(WELL, quarantine=1, log_failure="x"))
    assert page["status"] == "failing"
    reasons = page["reasons"]
    assert isinstance(reasons, list)
    assert str(reasons[0]).startswith("nothing is accepted")
    assert len(reasons) == 2


def test_healthy_is_the_status() -> None:
    assert WELL.healthy
    assert not replace(WELL, quarantine=1).healthy and not replace(WELL, log_failure="x").healthy
