"""R31, R32: memory has an end, and the collector keeps within it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fix_collector import Served
from torture.bounds import memory_group
from torture.flood import Flood

from retrospan.ingest.machine.memory import (
    BESIDE_ENGINE_BYTES,
    LEAST_BYTES,
    engine_bytes,
    memory_limit,
    processes_within,
)
from retrospan.schemas.errors import ConfigError

MIB = 1 << 20


def groups(directory: Path, process: str, **limits: str) -> tuple[Path, Path]:
    """A process's groups and their limits as the kernel shows them, by path with __ for /."""
    (directory / "cgroup").write_text(process)
    for name, text in limits.items():
        file = (
            directory / "fs" / name.replace("__", "/").replace("_in_", ".limit_in_").replace("_max", ".max")
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return directory / "cgroup", directory / "fs"


@pytest.mark.parametrize(
    ("process", "limits", "found"),
    [
        ("0::/a/b\n", {"a__b__memory_max": "max\n", "a__memory_max": "536870912\n"}, 512 * MIB),
        ("0::/a\n", {"a__memory_max": "2147483648\n", "memory_max": "max\n"}, 2048 * MIB),
        ("0::/a\n", {"a__memory_max": "max\n"}, None),
        ("5:cpu:/x\n4:memory:/a\n", {"memory__a__memory_in_bytes": "268435456\n"}, 256 * MIB),
        ("4:memory:/a\n", {"memory__memory_in_bytes": "9223372036854771712\n"}, None),
        ("0::/nowhere\n", {}, None),
    ],
    ids=["above", "own", "unlimited", "first version", "first version unlimited", "none"],
)
def test_the_tightest_limit_of_the_control_groups_counts(
    tmp_path: Path, process: str, limits: dict[str, str], found: int | None
) -> None:
    assert memory_limit(*groups(tmp_path, process, **limits)) == found


def test_the_engine_gets_what_the_limit_leaves() -> None:
    assert engine_bytes(6000 * MIB, None) == 6000 * MIB
    assert engine_bytes(6000 * MIB, 64_000 * MIB) == 6000 * MIB
    assert engine_bytes(6000 * MIB, 2000 * MIB) == 2000 * MIB - BESIDE_ENGINE_BYTES
    assert [processes_within(2, limit) for limit in (None, 64_000 * MIB, 2000 * MIB)] == [2, 2, 1]
    with pytest.raises(ConfigError, match="allows 1535 MiB"):
        engine_bytes(6000 * MIB, LEAST_BYTES - 1)


@pytest.mark.requirement("R32")
@pytest.mark.linux
def test_with_256_mb_it_does_not_start_and_says_why(tmp_path: Path) -> None:
    with memory_group(256 * MIB) as group:
        done = subprocess.run(
            [
                *group.prefix,
                *(sys.executable, "-m", "retrospan.ingest.cli.main", "serve", "--data", str(tmp_path)),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert group.kills == 0
    assert done.returncode == 2
    assert "allows 256 MiB of memory" in done.stderr and "needs 1536 MiB" in done.stderr


@pytest.mark.soak
@pytest.mark.requirement("R31", "R32")
def test_a_flood_is_survived_with_the_least_memory_and_nothing_acknowledged_is_lost(
    tmp_path: Path,
) -> None:
    with memory_group(LEAST_BYTES) as group:

        class Held(Served):
            prefix = group.prefix

        collector = Held(tmp_path / "data", tmp_path / "stderr.txt")
        try:
            flood = Flood(collector.grpc, senders=8, requests=4000)
            flood.run()
            assert collector.process.poll() is None, collector.stderr()[-2000:]
            behind = collector.health()["load_lag_records"]
            assert behind > 0, "it was not a flood: the tables kept up"
            collector.until(lambda: not collector.health()["load_lag_records"], 400.0)
            [row] = collector.rows("SELECT toUInt32(count()) AS spans FROM raw_spans")
            assert row["spans"] >= flood.acknowledged > 0
            assert group.kills == 0
            assert collector.stop() == 0
        finally:
            collector.kill()
