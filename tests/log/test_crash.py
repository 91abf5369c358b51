"""kill -9: what was acknowledged is there. And one process owns a directory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from retrospan.ingest.log.directory import claim
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.schemas.errors import DirectoryInUse

# Appends from four threads without end, and prints each sequence once it is acknowledged.
APPENDER = """
import sys, threading
from pathlib import Path
from retrospan.ingest.log.write_ahead_log import WriteAheadLog

log = WriteAheadLog.open(Path(sys.argv[1]), segment_bytes=20_000, low_water_bytes=0)
printing = threading.Lock()

def work(number):
    while True:
        body = b"%d-" % number * 100
        sequence = log.append(tenant="default", traces=body)
        with printing:
            print(sequence, flush=True)

for number in range(4):
    threading.Thread(target=work, args=(number,)).start()
"""

CLAIMER = """
import sys, time
from pathlib import Path
from retrospan.ingest.log.directory import claim

held = claim(Path(sys.argv[1]))
print("claimed", flush=True)
time.sleep(60)
"""


def start(program: str, directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(directory)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.requirement("R01")
def test_every_acknowledged_record_survives_kill_9(tmp_path: Path) -> None:
    acknowledged: set[int] = set()
    for round_number in range(5):
        process = start(APPENDER, tmp_path)
        assert process.stdout is not None
        for _ in range(40 + 60 * round_number):
            acknowledged.add(int(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()
        acknowledged.update(int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n"))
        process.wait(30)
        process.stdout.close()
        log = WriteAheadLog.open(tmp_path, low_water_bytes=0)
        found: list[int] = []
        while chunk := log.read(found[-1] if found else 0, max_bytes=1 << 20):
            found += [frame.sequence for frame in chunk.frames()]
        log.close()
        assert acknowledged <= set(found)
        assert found == list(range(1, len(found) + 1)), "no gap, no repetition"
        assert log.recovery.lost_records == 0


@pytest.mark.requirement("R14")
def test_a_second_process_is_told_the_directory_and_the_pid(tmp_path: Path) -> None:
    process = start(CLAIMER, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "claimed\n"
    with pytest.raises(DirectoryInUse) as refused:
        claim(tmp_path)
    assert refused.value.pid == process.pid
    assert str(tmp_path) in str(refused.value)
    assert str(process.pid) in str(refused.value)
    process.kill()
    process.wait(30)
    process.stdout.close()
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            with claim(tmp_path):
                assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
            return
        except DirectoryInUse:
            time.sleep(0.01)
    pytest.fail("the lock of a killed process was not taken over")


def test_a_released_directory_can_be_claimed_again(tmp_path: Path) -> None:
    first = claim(tmp_path / "new" / "deep")
    with pytest.raises(DirectoryInUse):
        claim(tmp_path / "new" / "deep")
    first.release()
    first.release()
    with claim(tmp_path / "new" / "deep"):
        pass
