"""kill -9 at any point: afterwards every span is in the tables, once."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from otlp_values import Origin, Span, request

from retrospan.ingest.log.write_ahead_log import WriteAheadLog

SCRIPT = Path(__file__).with_name("kill_scene.py")
RECORDS, SPANS = 24, 5


def write_log(data: Path) -> None:
    log = WriteAheadLog.open(data / "log", low_water_bytes=0, segment_bytes=2000)
    for record in range(RECORDS):
        spans = [
            Span(trace_id=record.to_bytes(16, "big"), span_id=i.to_bytes(8, "big")) for i in range(SPANS)
        ]
        log.append(tenant="default", traces=request(Origin(), spans), items=len(spans))
    log.close()


def run(data: Path, point: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(data), point]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)


def rows_at_the_end(data: Path) -> list[int]:
    finished = run(data, "never")
    assert finished.returncode == 0, finished.stderr
    rows: list[int] = json.loads(finished.stdout.splitlines()[-1])
    return rows


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("torn", marks=pytest.mark.long),
        pytest.param("noted", marks=pytest.mark.soak),
        pytest.param("inserted", marks=pytest.mark.long),
        pytest.param("marked", marks=pytest.mark.soak),
    ],
)
def test_every_span_is_there_once_after_a_kill(data_path: Path, point: str) -> None:
    write_log(data_path)
    assert run(data_path, point).returncode == -signal.SIGKILL
    # Not one physical row too many: the repeated batch was recognised by its token.
    assert rows_at_the_end(data_path) == [RECORDS * SPANS] * 3 + [RECORDS]


@pytest.mark.long
def test_every_span_is_there_once_after_many_kills_at_random(data_path: Path) -> None:
    write_log(data_path)
    moments = random.Random(7)
    killed = 0
    for _ in range(15):
        with subprocess.Popen(
            [sys.executable, str(SCRIPT), str(data_path), "never"], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "loading\n"
            time.sleep(moments.uniform(0.0, 1.0))  # the moment is the point; nothing is proved by its length
            child.kill()
        killed += child.returncode == -signal.SIGKILL
    assert killed
    assert rows_at_the_end(data_path) == [RECORDS * SPANS] * 3 + [RECORDS]
