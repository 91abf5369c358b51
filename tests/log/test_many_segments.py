"""A log of many segments: what is done with one of them does not look through all the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retrospan.ingest.log import segmented
from retrospan.ingest.log.segment_reader import Readable
from retrospan.ingest.log.segmented import SegmentedLog
from retrospan.ingest.log.write_ahead_log import WriteAheadLog

SEGMENTS = 40


@pytest.fixture
def many(tmp_path: Path) -> WriteAheadLog:
    made = WriteAheadLog.open(tmp_path / "log", segment_bytes=1, low_water_bytes=0)
    for _ in range(SEGMENTS + 1):
        made.append(tenant="default", traces=b"x" * 100)
    while made.archive_next(SEGMENTS):
        pass
    assert len(made.segments()) == SEGMENTS + 1 and made.segments()[SEGMENTS - 1].packed
    return made


def test_a_process_that_begins_is_told_of_them_in_one_pass(
    many: WriteAheadLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes, sealed = 0, SegmentedLog._sealed

    def counted(log: SegmentedLog) -> Any:
        nonlocal passes
        passes += 1
        return sealed(log)

    monkeypatch.setattr(SegmentedLog, "_sealed", counted)
    before = many.bytes_used, many.segments()
    many.look_again()
    assert passes == 1
    assert (many.bytes_used, many.segments()) == before
    assert [each.first for each in many.segments(SEGMENTS)] == [SEGMENTS, SEGMENTS + 1]
    first, last = before[1][0], before[1][-1]
    many.note_archived(first.first, None, 0, 0)
    many.note_archived(last.first, None, 0, 0)
    many.note_archived(first.first, None, 0, 0)
    assert [each.first for each in many.segments()] == [*range(2, SEGMENTS + 2)], "and not the newest"
    assert many.bytes_used == before[0] - first.disk_bytes
    many.close()


def test_a_record_is_found_without_looking_at_those_behind_it(
    many: WriteAheadLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = 0

    def counted(*words: Any) -> Readable:
        nonlocal looked_at
        looked_at += 1
        return Readable(*words)

    monkeypatch.setattr(segmented, "Readable", counted)
    found: list[int] = []
    while chunk := many.read(found[-1] if found else 0, max_bytes=1 << 20):
        found += [frame.sequence for frame in chunk.frames()]
    assert found == list(range(1, SEGMENTS + 2))
    assert looked_at == SEGMENTS + 1
    many.close()
