"""When the page of `python -m bench.rest` says that a mark is missed, and how it counts memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench.load import Load
from bench.rest import EMPTY, MILLION_SPANS, Disk, Found, Rest, render
from bench.starts import Memory, Start

BASE = Path(__file__).parents[2]


def found(
    medium: int = 250,
    long: int = 70,
    ack: float = 0.5,
    answer: float = 1.5,
    million: float = 3.0,
    alone: int = 350_000_000,
    proportional: int = 1,
) -> Found:
    found = Found(
        starts={
            # The least of several counts: others use the machine as well.
            EMPTY: [Start(9.0, 9.0, 0.2, 0.9), Start(ack, answer, 0.2, 0.9)],
            MILLION_SPANS: [Start(0.1, million, 0.2, 0.9), Start(9.0, 9.0, 0.2, 0.9)],
        },
        idle={EMPTY: Memory({"retrospan.ingest.warehouse_process": proportional}, alone)},
    )
    for name, kept in (("medium", medium), ("long", long)):
        disk = Disk(log=1, archive=2, raw=3, canonical=kept - 6, parts=9)
        load = Load(Path("load"), 1, 1, 1, 1_000)
        found.rests[name] = Rest(load, 1.0, 2.0, Disk(1_000, 0, 0, 0, 50), disk)
    return found


@pytest.mark.parametrize(
    ("given", "missed"),
    [
        ({}, ""),
        ({"medium": 251}, "kept of each byte sent, medium"),
        ({"long": 71}, "kept of each byte sent, long"),
        ({"ack": 0.51}, "acknowledging, an empty directory"),
        ({"answer": 1.51}, "answering, an empty directory"),
        ({"million": 3.01}, "answering, a million spans"),
        ({"alone": 350_000_001}, "idle, an empty directory"),
        ({"proportional": 350_000_001}, "idle, an empty directory"),
    ],
)
def test_a_mark_is_met_by_the_least_time_and_by_the_larger_memory(
    given: dict[str, float], missed: str
) -> None:
    page, met = render(found(**given), {"Memory": "much"})  # type: ignore[arg-type]
    assert met is not bool(missed)
    lines = [line for line in page.splitlines() if "**missed**" in line]
    assert [line.startswith(f"| {missed}") for line in lines] == [True] * bool(missed)
    prose = [line for line in page.splitlines() if not line.startswith("|")]
    assert max(map(len, prose)) <= 120


# In a process of its own: the memory of a worker that has other tests behind it moves while it is counted.
COUNTED = """
import mmap, os, sys
from pathlib import Path
from bench.starts import memory_of_all
size = 32 << 20
file = Path(sys.argv[1])
file.write_bytes(os.urandom(1 << 20) * 32)
before = memory_of_all(os.getpid())
own = bytearray(os.urandom(1 << 20)) * 32
with file.open("rb") as opened, mmap.mmap(opened.fileno(), size, access=mmap.ACCESS_READ) as mapped:
    assert sum(mapped[at] for at in range(0, size, 4096)) > 0
    after = memory_of_all(os.getpid())
assert len(own) == size
print(after.alone - before.alone)
print(sum(after.proportional.values()) - sum(before.proportional.values()))
"""


@pytest.mark.linux
def test_memory_of_files_and_of_its_own_is_counted(tmp_path: Path) -> None:
    size = 32 << 20
    command = [sys.executable, "-c", COUNTED, str(tmp_path / "file")]
    ended = subprocess.run(command, check=True, capture_output=True, text=True, cwd=BASE)
    alone, proportional = map(int, ended.stdout.split())
    assert 1.8 * size < alone < 2.5 * size
    assert 1.8 * size < proportional < 2.5 * size
