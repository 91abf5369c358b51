"""The log's archive loses the bytes of what was deleted, and nothing else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from keeping import KINDS, Keeper, agent_run, trace_of

from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.retention.policy.policy import read_policy
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.errors import LogFull


def bytes_in_log(directory: Path, loaded: int) -> bytes:
    """Every record of a log that nobody else has open, one after the other."""
    log = WriteAheadLog.open(directory / "log", low_water_bytes=0, loaded_sequence=loaded)
    parts, last = [], 0
    while (chunk := log.read(last, max_bytes=1 << 20)) is not None:
        parts.append(chunk.data)
        last = chunk.last_sequence
    recovery = log.recovery
    log.close()
    assert (recovery.lost_records, recovery.reason) == (0, ""), "what was removed on purpose is not lost"
    return b"".join(parts)


@pytest.mark.soak
def test_deleted_runs_leave_the_archive_and_a_rebuild_finds_the_rest(
    warehouse: EmbeddedWarehouse, tmp_path: Path
) -> None:
    keeper = Keeper(warehouse, tmp_path, segment_bytes=40_000)
    # The first segments hold nothing but successes, the later ones runs of every class in one request.
    keeper.send([agent_run(f"only-{n}", "ok", payload=2000) for n in range(60)])
    keeper.send(
        [agent_run(f"{k}-{n}", k, payload=2000) for n in range(8) for k in KINDS], together=len(KINDS)
    )
    keeper.send([agent_run("last", "golden", payload=45_000)])
    keeper.send([agent_run("newest", "golden")])
    keeper.settle()
    assert keeper.archive() > 4
    keeper.marks.flag({"run": trace_of("only-59")})
    keeper.after(8)
    young = read_policy('[archive]\nkeep = "20d"', "young")
    gone = keeper.apply(young)
    assert len(gone) == 59 + 5 * 8
    assert keeper.rows("SELECT count() FROM retention_log WHERE what = 'segment'") == [[0]], "too young"
    keeper.apply()
    receipts = keeper.rows(
        "SELECT subject, content_hash != '', hash_after != '', bytes FROM retention_log WHERE what = 'segment'"
    )
    assert {bool(row[2]) for row in receipts} == {True, False}, "some were removed, some rewritten"
    assert all(row[1] and row[3] for row in receipts)
    assert keeper.apply() == [] and keeper.verify() == keeper.verify()
    assert keeper.rows("SELECT count() FROM retention_log WHERE what = 'segment'") == [[len(receipts)]], (
        "once"
    )
    runs, spans = keeper.runs(), keeper.rows("SELECT trace_id, span_id, attributes FROM spans ORDER BY 1, 2")
    keeper.reload()
    assert keeper.runs() == runs
    assert keeper.rows("SELECT trace_id, span_id, attributes FROM spans ORDER BY 1, 2") == spans
    assert all(not checked.wrong for checked in keeper.verify())
    loaded = keeper.loader.loaded_sequence
    keeper.close()

    content = bytes_in_log(tmp_path, loaded)
    for name in ("only-0", "only-58", "ok-3", "test-7"):
        assert bytes.fromhex(trace_of(name)) not in content
    for name in ("only-59", "golden-3", "error-7", "newest"):
        assert bytes.fromhex(trace_of(name)) in content


@pytest.mark.long
@pytest.mark.requirement("R08")
def test_a_full_log_is_emptied_by_deleting_runs(warehouse: EmbeddedWarehouse, tmp_path: Path) -> None:
    keeper = Keeper(warehouse, tmp_path, segment_bytes=20_000, limit_bytes=60_000)
    noise = random.Random(8)
    sent = 0
    with pytest.raises(LogFull, match="delete runs"):
        for sent in range(1, 1000):
            keeper.send([agent_run(f"ok-{sent}", "ok", said=noise.randbytes(900).hex())])
            if sent % 10 == 0:
                keeper.settle()
                keeper.archive()
    assert 20 < sent < 999
    keeper.settle()
    keeper.archive()
    keeper.marks.hold({"run": trace_of("ok-1")})
    keeper.after(8)
    assert len(keeper.apply()) == sent - 2, "all that came in but the one that is held"
    keeper.archive()
    keeper.send([agent_run("after", "ok", payload=20_000)])
    keeper.settle()
    assert keeper.runs() == sorted([trace_of("ok-1"), trace_of("after")])
    assert all(not checked.wrong for checked in keeper.verify())
    keeper.close()
