"""A whole collector whose log lies in the archive: everything can be derived from there."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from retrospan.torture.victim import Victim

REQUESTS, SPANS = 24, 10
QUERY = "SELECT trace_id, span_id, name, attributes['text'] FROM spans ORDER BY trace_id, span_id"


@contextmanager
def running(directory: Path) -> Iterator[Victim]:
    victim = Victim(directory / "data", directory / "stderr.txt")
    try:
        assert victim.wait_ready(), (directory / "stderr.txt").read_text()
        yield victim
        assert victim.stop() == 0
    finally:
        victim.kill()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 600
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_idle(victim: Victim) -> bool:
    health = victim.health()
    return not health["load_lag_records"] and not health["interpretation_lag_traces"]


def request(number: int) -> bytes:
    """Spans with 3 KB of text each that does not compress much, so that segments fill."""
    made = ExportTraceServiceRequest()
    scope = made.resource_spans.add().scope_spans.add()
    for index in range(1, SPANS + 1):
        span = scope.spans.add(trace_id=number.to_bytes(16, "big"), span_id=index.to_bytes(8, "big"))
        span.name = f"span {number}/{index}"
        span.start_time_unix_nano = 1_790_000_000_000_000_000
        span.end_time_unix_nano = span.start_time_unix_nano + 1
        text = "".join(hashlib.sha256(f"{number} {index} {i}".encode()).hexdigest() for i in range(48))
        span.attributes.add(key="text").value.string_value = text
    return made.SerializeToString()


@pytest.mark.long
@pytest.mark.requirement("R13")
def test_lost_tables_and_a_lost_ledger_are_derived_again_from_the_archive(tmp_path: Path) -> None:
    log = tmp_path / "data" / "log"
    with running(tmp_path) as victim:
        assert victim.addresses is not None
        for number in range(1, REQUESTS + 1):
            post = urllib.request.Request(
                f"http://{victim.addresses.http}/v1/traces",
                request(number),
                {"Content-Type": "application/x-protobuf"},
            )
            with urllib.request.urlopen(post, timeout=30) as reply:
                assert reply.status == 200
        until(lambda: is_idle(victim))
        before = victim.rows(QUERY)
        assert len(before) == REQUESTS * SPANS
        # The newest segment stays plain; all before it move.
        until(lambda: len(list(log.glob("*.seg"))) == 1)
        assert len(list((log / "archive").glob("*.seg.zst"))) >= 4
    shutil.rmtree(tmp_path / "data" / "warehouse")
    (log / "batches.jsonl").unlink()
    with running(tmp_path) as victim:
        until(lambda: is_idle(victim))
        assert victim.rows(QUERY) == before
        rebuild = subprocess.run(
            [sys.executable, "-m", "retrospan.ingest.cli.main", "rebuild"],
            env={**os.environ, "RETROSPAN_URL": victim.url},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert rebuild.returncode == 0, rebuild.stderr
        until(lambda: is_idle(victim))
        assert victim.rows(QUERY) == before
