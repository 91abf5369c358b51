"""What a process of the collector does not load before it has to: that would be a part of its start."""

from __future__ import annotations

import subprocess
import sys

import pytest

READS_RUNS = ("retrospan.ingest.interpret.run", "retrospan.ingest.interpret.dialects")


@pytest.mark.parametrize(
    ("process", "module", "not_yet"),
    [
        ("the warehouse's", "retrospan.ingest.following", (*READS_RUNS, "chdb", "pyarrow", "numpy")),
        ("the receiving one, before the warehouse's is on its way", "retrospan.ingest.collector",
         (*READS_RUNS, "chdb", "grpc", "uvicorn", "google.protobuf")),
        ("the receiving one", "retrospan.ingest.receiving", (*READS_RUNS, "chdb")),
    ],
)  # fmt: skip
def test_a_process_does_not_load_what_another_one_does(
    process: str, module: str, not_yet: tuple[str, ...]
) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name for name in not_yet if name in done.stdout.split()} == set(), process
