"""R16: a copy of the log, taken as docs/reliability.md says while agents send, is a collector that has it all."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import otlp_requests as make
import pytest
from docs.pages import TOP, Page
from fix_collector import Served
from keeping import Keeper, agent_run

from retrospan.ingest.log.record import decode
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

BODY = b"x" * 300


def sequences(log: WriteAheadLog) -> list[int]:
    found: list[int] = []
    while chunk := log.read(found[-1] if found else 0, max_bytes=1 << 20):
        found += [frame.sequence for frame in chunk.frames()]
    return found


def append(log: WriteAheadLog, count: int) -> int:
    return [log.append(tenant="default", traces=BODY) for _ in range(count)][-1]


def archive(log: WriteAheadLog) -> None:
    while log.archive_next(log.durable_sequence):
        pass


@pytest.mark.requirement("R16")
def test_segments_that_move_into_the_archive_during_the_copy_leave_no_gap(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path / "log", segment_bytes=1500, low_water_bytes=0)
    append(log, 10)
    archive(log)
    mark = append(log, 6)
    copy = tmp_path / "copy"
    (copy / "archive").mkdir(parents=True)
    plain = sorted((tmp_path / "log").glob("*.seg"))
    for path in plain:
        shutil.copy(path, copy)
    # The newest is caught half-way through a record, and everything is archived before the archive's turn.
    torn = copy / plain[-1].name
    torn.write_bytes(torn.read_bytes() + b"half a rec")
    append(log, 20)
    archive(log)
    for path in (tmp_path / "log" / "archive").iterdir():
        shutil.copy(path, copy / "archive")
    log.close()
    restored = WriteAheadLog.open(copy, segment_bytes=1500, low_water_bytes=0)
    found = sequences(restored)
    assert found == list(range(1, len(found) + 1))
    assert len(found) >= mark
    assert restored.recovery.lost_records == 0
    assert restored.append(tenant="default", traces=BODY) == len(found) + 1
    restored.close()


@pytest.mark.requirement("R16")
def test_an_archived_segment_counts_before_a_shorter_plain_one(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path / "log", segment_bytes=1500, low_water_bytes=0)
    append(log, 10)
    first = min((tmp_path / "log").glob("*.seg"))
    half = first.read_bytes()[:700]
    archive(log)
    log.close()
    first.write_bytes(half)
    again = WriteAheadLog.open(tmp_path / "log", segment_bytes=1500, low_water_bytes=0)
    assert sequences(again) == list(range(1, 11))
    assert again.recovery.reason == ""
    again.close()
    # Retention may make the archive the shorter one later: what is left there then must not count again.
    assert not first.exists()


@pytest.mark.requirement("R16")
def test_a_shorter_plain_segment_that_is_not_a_copy_of_its_archive_stays(tmp_path: Path) -> None:
    log = WriteAheadLog.open(tmp_path / "log", segment_bytes=1500, low_water_bytes=0)
    append(log, 10)
    first = min((tmp_path / "log").glob("*.seg"))
    half = first.read_bytes()[:700]
    archive(log)
    log.close()
    first.write_bytes(half[:-1] + bytes([half[-1] ^ 1]))
    again = WriteAheadLog.open(tmp_path / "log", segment_bytes=1500, low_water_bytes=0)
    assert sequences(again) == list(range(1, 11))
    again.close()
    assert first.exists()


def procedure(data: Path, backup: Path, before: str = "", *, succeeds: bool = True) -> None:
    """The block of the page, run in bash with other directories, after some lines of the test's own."""
    [script] = [
        text for _, text in Page(TOP / "docs" / "reliability.md").blocks if "backup/log/archive" in text
    ]
    places = {"retrospan-data": data, "backup": backup}
    script = re.sub("|".join(places), lambda found: str(places[found[0]]), script)
    # What cp does not find any more has moved into the archive, which is copied again; nothing was removed from it.
    done = subprocess.run(
        ["bash", "-c", before + script], capture_output=True, text=True, check=False, timeout=120
    )
    if succeeds:
        assert done.returncode == 0 and all(
            "cannot stat" in line and line.rpartition("': ")[0].endswith((".seg", ".zst", "/removed"))
            for line in done.stderr.splitlines()
        ), done.stderr
    else:
        assert done.returncode != 0


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (directory / "log" / "archive").iterdir()}


@pytest.mark.requirement("R16")
def test_a_backup_that_was_cut_short_says_so_and_is_whole_once_it_is_repeated(tmp_path: Path) -> None:
    data, backup = tmp_path / "data", tmp_path / "saved"
    log = WriteAheadLog.open(data / "log", segment_bytes=60_000, low_water_bytes=0)
    for name in ("tenant", "prices.jsonl", "log/hashes", "log/batches.jsonl"):
        (data / name).touch()
    for _ in range(9):
        log.append(tenant="default", traces=os.urandom(40_000))
    archive(log)
    log.close()
    before = files(data)
    assert len(before) > 5
    # No file may become longer than 20 KiB, as on a disk that is full; then the copy is killed in the middle of one.
    procedure(data, backup, "ulimit -f 20; ", succeeds=False)
    assert not files(backup)
    half = 'cp() { command cp "$@"; case "$2" in *.zst) rm "$4/${3##*/}"; kill -9 $BASHPID; esac; }\n'
    procedure(data, backup, half, succeeds=False)
    assert not files(backup) and [*(backup / "part").iterdir()]
    # A file that an earlier procedure left half written is as new as can be.
    (backup / "log" / "archive" / max(before)).write_bytes(b"half")
    procedure(data, backup)
    assert files(backup) == before


@pytest.mark.long
@pytest.mark.requirement("R16")
def test_what_retention_takes_from_the_archive_during_the_copy_has_its_receipt_in_it(
    warehouse: EmbeddedWarehouse, tmp_path: Path
) -> None:
    keeper = Keeper(warehouse, tmp_path / "data", segment_bytes=20_000)
    for name in ("tenant", "prices.jsonl"):
        (tmp_path / "data" / name).touch()
    for number in range(6):
        keeper.send([agent_run(f"gone-{number}", "ok", payload=9000), agent_run(f"kept-{number}", "golden")])
    keeper.settle()
    assert keeper.archive() > 2
    keeper.after(8)
    copied, go_on = tmp_path / "copied", tmp_path / "go-on"
    waiting = (
        f'cp() {{ command cp "$@" || return; case "$*" in *.zst*) touch {copied}; while [ ! -e {go_on} ]; do sleep 0.01; done;; '
        "esac; }\n"
    )
    copy = threading.Thread(target=procedure, args=(tmp_path / "data", tmp_path / "backup", waiting))
    copy.start()
    while not copied.exists():
        assert copy.is_alive()
    assert len(keeper.apply()) == 6
    go_on.touch()
    copy.join()
    receipts = keeper.rows("SELECT count() FROM receipts")
    there, held = (
        {path.name: path.read_bytes() for path in (tmp_path / place / "log" / "archive").iterdir()}
        for place in ("data", "backup")
    )
    assert there == held, "each archive as its receipt says, and none that is not removed"
    keeper.close()
    restored = WriteAheadLog.open(tmp_path / "backup" / "log", low_water_bytes=0)
    notes = 0
    after = 0
    while chunk := restored.read(after, max_bytes=1 << 20):
        notes += sum(len(decode(chunk.data[frame.body : frame.end]).notes) for frame in chunk.frames())
        after = chunk.last_sequence
    restored.close()
    assert [[notes]] == receipts


@pytest.mark.long
@pytest.mark.requirement("R16")
def test_every_span_acknowledged_before_the_copy_is_there_after_a_restore(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("[limits]\nsegment_bytes = 8192\n")
    flags = ("--config", str(settings))
    source = Served(tmp_path / "data", tmp_path / "stderr.txt", *flags)
    acknowledged: list[str] = []
    enough, done = threading.Event(), threading.Event()

    def send() -> None:
        while not done.is_set():
            span = make.span("x" * 200)
            source.send(traces=[make.traces(span).SerializeToString()])
            acknowledged.append(span.span_id.hex())
            if len(acknowledged) >= 300:
                enough.set()

    sender = threading.Thread(target=send)
    try:
        sender.start()
        assert enough.wait(60)
        archived = tmp_path / "data" / "log" / "archive"
        source.until(lambda: archived.is_dir() and any(archived.glob("*.zst")))
        before = list(acknowledged)
        head = source.run("verify").splitlines()[-1].split()[-1]
        procedure(tmp_path / "data", tmp_path / "backup")
        # Once more into the same place, which then holds what came meanwhile as well.
        between = list(acknowledged)
        procedure(tmp_path / "data", tmp_path / "backup")
    finally:
        done.set()
        sender.join()
        source.kill()
    assert set(before) <= set(between)
    restored = Served(tmp_path / "backup", tmp_path / "restored.txt", *flags)
    try:
        restored.wait_idle()
        found = {row["span_id"] for row in restored.rows("SELECT span_id FROM spans")}
        assert set(between) <= found <= set(acknowledged)
        assert restored.health()["recovery_lost_records"] == 0
        assert restored.health()["evidence_complaint"] == ""
        restored.run("verify", "--full", "--expect", head)
    finally:
        restored.kill()
