"""What was deleted does not come back when records are loaded again that still hold it: not for a moment."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from keeping import Keeper, agent_run, trace_of

from retrospan.ingest.log.archive import opened
from retrospan.ingest.retention.policy.policy import read_policy
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

GONE = sorted(trace_of(f"gone-{number}") for number in range(4))
KEPT = sorted(trace_of(f"kept-{number}") for number in range(4))


def scene(warehouse: EmbeddedWarehouse, directory: Path) -> Keeper:
    """Runs that go after a week and runs that stay, some in one record, over several segments."""
    keeper = Keeper(warehouse, directory, segment_bytes=20_000)
    for number in range(4):
        keeper.send(
            [agent_run(f"gone-{number}", "ok", payload=9000), agent_run(f"kept-{number}", "golden")],
            together=1 + number % 2,
        )
    keeper.settle()
    return keeper


def load_again(keeper: Keeper) -> None:
    """Load all of a log again, and carry out none of its receipts."""
    keeper.loader.reload_all()
    assert keeper.loader.chains.applied == 0


@pytest.mark.long
def test_what_a_rebuild_reads_again_is_not_there_before_receipts_are_carried_out(
    warehouse: EmbeddedWarehouse, tmp_path: Path
) -> None:
    keeper = scene(warehouse, tmp_path)
    keeper.after(8)
    assert keeper.apply() == GONE
    assert keeper.archive() > 0, "after the deletion: the bytes are all there"
    keeper.send([agent_run("gone-0", "ok", said="late")])
    keeper.settle()
    load_again(keeper)
    assert keeper.traces() == sorted([*KEPT, trace_of("gone-0")])
    rows = keeper.rows("SELECT count(), max(toString(attributes) LIKE '%answer gone%') FROM raw_spans FINAL")
    assert rows == [[10, 0]], "of a deleted run that got new spans only these are there"
    assert keeper.rows("SELECT count() FROM arrivals WHERE trace_id = {t:String}", t=GONE[1]) == [[0]]
    keeper.close()


@pytest.mark.long
def test_payloads_that_were_deleted_do_not_come_back_either(
    warehouse: EmbeddedWarehouse, tmp_path: Path
) -> None:
    keeper = scene(warehouse, tmp_path)
    keeper.after(4)
    keeper.apply(read_policy('[payloads]\nok = "3d"\n', "keep.toml"))
    asked = "SELECT trace_id, span_id, name, attributes FROM raw_spans FINAL ORDER BY trace_id, span_id"
    before = keeper.rows(asked)
    assert not any("question gone" in str(row) for row in before)
    load_again(keeper)
    assert keeper.rows(asked) == before
    keeper.close()


@pytest.mark.long
def test_a_backup_that_was_repeated_brings_nothing_back_that_was_deleted_in_between(
    warehouse: EmbeddedWarehouse, tmp_path: Path
) -> None:
    data, backup = tmp_path / "data" / "log", tmp_path / "backup" / "log"
    (backup / "archive").mkdir(parents=True)
    keeper = scene(warehouse, tmp_path / "data")

    def copy() -> None:
        for name in ("hashes", "batches.jsonl"):
            shutil.copy2(data / name, backup)
        for path in (data / "archive").glob("*"):
            shutil.copy2(path, backup / "archive")
        for path in data.glob("*.seg"):
            shutil.copy2(path, backup)

    copy()
    assert keeper.archive() > 1
    keeper.after(8)
    assert keeper.apply() == GONE
    copy()
    keeper.close()
    both = {path.name[:20] for path in backup.glob("*.seg")} & {
        path.name[:20] for path in backup.glob("*/*.zst")
    }
    assert both, "there as a plain segment with all of it, and as the archive that was written anew"
    restored = Keeper(warehouse, tmp_path / "backup", segment_bytes=20_000)
    load_again(restored)
    assert restored.traces() == KEPT
    restored.retention.finish()
    restored.archive()
    restored.after(8)
    assert restored.apply() == []
    for segment in restored.log.archived(restored.loader.loaded_sequence):
        with opened(segment) as descriptor:
            held = os.pread(descriptor, segment.size, 0)
        assert not any(bytes.fromhex(trace) in held for trace in GONE), "the bytes go with the next deletion"
    restored.close()
