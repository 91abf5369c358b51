"""Files of the log that are damaged or removed while the collector runs: they are named, and the others are looked at."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from keeping import Keeper, agent_run, trace_of

from retrospan.ingest.machine.durable_files import Files
from retrospan.ingest.retention.policy.policy import default_policy
from retrospan.ingest.verify.request import VerifyRequest
from retrospan.ingest.verify.verification import Verification
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse


@pytest.fixture
def keeper(warehouse: EmbeddedWarehouse, tmp_path: Path) -> Keeper:
    """Runs that go after a week and runs that stay, over several segments; nothing is archived."""
    keeper = Keeper(warehouse, tmp_path, segment_bytes=20_000)
    for number in range(6):
        keeper.send([agent_run(f"gone-{number}", "ok", payload=9000), agent_run(f"kept-{number}", "golden")])
    keeper.settle()
    return keeper


def verify(keeper: Keeper) -> list[Mapping[str, object]]:
    """What `verify --full` calls wrong."""
    lines: list[Mapping[str, object]] = []
    verification = Verification(keeper.warehouse, keeper.log, keeper.loader.chains, 0)
    verification.run(VerifyRequest.of({"full": True}), lines.append)
    assert "head" in lines[-1], "it went on to its end"
    return [line for line in lines if line.get("wrong")]


@pytest.mark.long
def test_a_damaged_segment_that_is_not_archived_is_named_and_the_others_are_cleansed(keeper: Keeper) -> None:
    damaged, *_ = sorted((keeper.log.directory).glob("*.seg"))
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    assert keeper.log.recovery.reason == ""
    assert keeper.archive() > 0
    assert damaged.exists()
    # It was loaded before it was damaged, so that nobody else would tell.
    assert keeper.log.recovery.reason.startswith(f"{damaged.name}: bytes ")
    keeper.after(8)
    for _ in range(2):
        lines: list[Mapping[str, object]] = []
        summary = keeper.retention.apply(default_policy(), lines.append, by="tests").told()
        wrong = [line for line in lines if "wrong" in line]
        assert [line["where"] for line in wrong] == [f"log/{damaged.name}"], "it is said every time"
        assert "is damaged, so it is not archived: what was deleted may still be in it" in str(
            wrong[0]["wrong"]
        )
        assert summary["segments_altered"] == 1
    subjects = keeper.rows("SELECT subject FROM retention_log WHERE what = 'segment'")
    assert len(subjects) == len(list((keeper.log.directory / "archive").glob("*.zst")))
    keeper.close()


@pytest.mark.long
@pytest.mark.parametrize("times", [1, 2])
def test_on_a_full_disk_a_segment_waits_and_the_others_are_cleansed(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    assert keeper.archive() > 2
    victim, *_ = keeper.log.archived(keeper.loader.loaded_sequence)
    make, write, full = Files.create, Files.append, dict[int, Path]()
    refused: list[Path] = []

    def create(self: Files, path: Path) -> int:
        descriptor = make(self, path)
        full.pop(descriptor, None)
        if path.name.startswith(victim.path.name) and len(refused) < times:
            full[descriptor] = path
        return descriptor

    def append(self: Files, descriptor: int, parts: Sequence[bytes]) -> None:
        if (path := full.pop(descriptor, None)) is not None:
            refused.append(path)
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(self, descriptor, parts)

    monkeypatch.setattr(Files, "create", create)
    monkeypatch.setattr(Files, "append", append)
    keeper.after(8)
    lines: list[Mapping[str, object]] = []
    summary = keeper.retention.apply(default_policy(), lines.append, by="tests").told()
    assert len(refused) == times
    assert not any(path.exists() for path in refused), "nothing half-written takes room"
    wrong = [line["where"] for line in lines if "wrong" in line]
    assert wrong == ([f"log/archive/{victim.path.name}"] if times == 2 else [])
    archives = len(list((keeper.log.directory / "archive").glob("*.zst")))
    assert (summary["segments_waiting"], summary["segments_altered"]) == (len(wrong), 0)
    assert summary["segments_rewritten"] == archives - len(wrong)
    again = keeper.retention.apply(default_policy(), lambda told: None, by="tests").told()
    assert (again["segments_waiting"], again["segments_rewritten"]) == (0, len(wrong))
    keeper.close()


@pytest.mark.long
@pytest.mark.parametrize("archived", [True, False])
def test_a_file_of_the_log_that_was_removed_meanwhile_is_named_and_all_else_is_compared(
    keeper: Keeper, archived: bool
) -> None:
    if archived:
        keeper.archive()
    assert verify(keeper) == []
    pattern = "archive/*.zst" if archived else "*.seg"
    _, gone, *_ = sorted(keeper.log.directory.glob(pattern))
    gone.unlink()
    wrong = verify(keeper)
    named = f"log/archive/{gone.name}" if archived else f"log/{gone.name}"
    assert next(line["wrong"] for line in wrong if line["where"] == named) == (
        "is missing: it held records 4-6 when the collector started"
    )
    lost = {trace_of(name) for name in ("kept-1", "gone-2", "kept-2")}
    spans = {str(line["trace_id"]) for line in wrong if line.get("table") == "raw_spans"}
    assert spans == lost, "of no other record anything is wrong"
    assert all(any(f"record {n}" in str(line) for n in (4, 5, 6)) or "4-6" in str(line) for line in wrong), (
        wrong
    )
    keeper.close()
