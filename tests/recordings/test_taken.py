"""What the collector gives back of the kit's recordings: every fact that their bytes hold, but the known misses."""

from __future__ import annotations

import pytest
from fix_recordings import HELD_BACK, taken
from recordings.known_misses import known_misses
from recordings.record.facts import Fact
from recordings.record.score import scores


@pytest.fixture(scope="module")
def facts() -> dict[str, list[Fact]]:
    """All of them over one collector, with whatever others have in its warehouse."""
    return scores(list(taken().values()))


@pytest.mark.parametrize("name", taken())
def test_what_the_bytes_hold_comes_back_or_is_a_known_miss(name: str, facts: dict[str, list[Fact]]) -> None:
    missed = {fact.name: fact.seen for fact in facts[name] if not fact.holds}
    known = known_misses(name)
    assert {fact: seen for fact, seen in missed.items() if fact not in known} == {}
    assert known.keys() - missed.keys() == set(), "these come back now: strike them off the table"


def test_what_is_held_back_can_be_read() -> None:
    held = taken(HELD_BACK)
    assert len({name.partition("/")[0] for name in held}) >= 3
    assert not held.keys() & taken().keys()
    for recording in held.values():
        assert recording.traces
        assert any(line["kind"] == "llm" for line in recording.truth)
