"""Retention does not vouch for what somebody altered: such a segment of the archive stays as it is, and is named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from forging import content_of, write_archive
from keeping import Keeper, agent_run

from retrospan.ingest.log.segment import Segment
from retrospan.ingest.retention.policy.policy import Policy, default_policy, read_policy
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse


@pytest.fixture
def keeper(warehouse: EmbeddedWarehouse, tmp_path: Path) -> Keeper:
    """Two runs in each record, of which one goes; records of several segments in a batch."""
    keeper = Keeper(warehouse, tmp_path, segment_bytes=20_000)
    for number in range(16):
        pair = [
            agent_run(f"keep-{number}", "golden", payload=900),
            agent_run(f"gone-{number}", "ok", payload=900),
        ]
        keeper.send(pair, together=2)
    keeper.send([agent_run("barrier", "golden", payload=25_000), agent_run("behind", "golden")])
    keeper.settle()
    assert keeper.archive() > 2
    return keeper


def forge(keeper: Keeper, old: bytes, new: bytes) -> Segment:
    for segment in keeper.log.archived(keeper.loader.loaded_sequence):
        try:
            content, _ = content_of(segment, old, new)
        except AssertionError:
            continue
        write_archive(segment, content)
        return segment
    raise AssertionError("no archive holds it")


def apply(
    keeper: Keeper, policy: Policy | None = None
) -> tuple[list[Mapping[str, object]], dict[str, object]]:
    """What was called wrong, and the summary."""
    lines: list[Mapping[str, object]] = []
    summary = keeper.retention.apply(policy or default_policy(), lines.append, by="tests")
    return [line for line in lines if "wrong" in line], summary.told()


@pytest.mark.long
def test_an_altered_segment_is_not_rewritten(keeper: Keeper) -> None:
    forged = forge(keeper, b"question keep-9", b"question EVIL-9")
    before = forged.path.read_bytes()
    keeper.after(8)
    wrong, summary = apply(keeper)
    assert forged.path.read_bytes() == before
    assert [line["where"] for line in wrong] == [f"log/archive/{forged.path.name}"]
    assert "do not match the hash" in str(wrong[0]["wrong"])
    assert summary["runs"] == 16 and summary["segments_altered"] == 1
    subjects = keeper.rows("SELECT subject FROM retention_log WHERE what = 'segment'")
    assert subjects and [forged.path.name] not in subjects, "the others were written anew, and have a receipt"
    again, summary = apply(keeper)
    assert again == wrong and summary["segments_altered"] == 1, "it is said every time"


@pytest.mark.long
def test_a_segment_that_was_altered_after_its_receipt_stays_as_it_is(keeper: Keeper) -> None:
    keeper.after(8)
    assert not apply(keeper)[0]
    forged = forge(keeper, b"question keep-9", b"question EVIL-9")
    keeper.after(9)
    others = len(keeper.log.archived(keeper.loader.loaded_sequence)) - 1
    before = forged.path.read_bytes()
    wrong, summary = apply(keeper, read_policy('[keep]\ngolden = "1d"', "short"))
    assert forged.path.read_bytes() == before
    assert [line["where"] for line in wrong] == [f"log/archive/{forged.path.name}"]
    assert "before or after the deletion" in str(wrong[0]["wrong"])
    assert summary["segments_removed"] == others and summary["segments_altered"] == 1


@pytest.mark.long
@pytest.mark.parametrize("gone", [False, True])
def test_a_segment_that_is_damaged_or_missing_is_named_and_the_others_are_cleansed(
    keeper: Keeper, gone: bool
) -> None:
    victim, *others = keeper.log.archived(keeper.loader.loaded_sequence)
    content = bytearray(victim.path.read_bytes())
    content[len(content) // 2] ^= 1
    victim.path.unlink() if gone else victim.path.write_bytes(content)
    keeper.after(8)
    wrong, summary = apply(keeper)
    assert [line["where"] for line in wrong] == [f"log/archive/{victim.path.name}"]
    assert ("is missing" if gone else "is damaged from byte") in str(wrong[0]["wrong"])
    assert summary["runs"] == 16 and summary["segments_altered"] == 1
    named = {
        subject for (subject,) in keeper.rows("SELECT subject FROM retention_log WHERE what = 'segment'")
    }
    assert named and named <= {other.path.name for other in others}
    assert apply(keeper)[0] == wrong, "it is said every time"
