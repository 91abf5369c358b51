"""What comes back of the kit's recordings: every fact that their bytes hold, but the known misses."""

from __future__ import annotations

from functools import cache

import pytest
from fix_recordings import HELD_BACK, taken
from recordings.known_misses import known_misses
from recordings.record.facts import facts_of
from recordings.record.pure_views import views_of_rows
from recordings.record.score import scores
from spans import rows_of_recording


@cache
def missed(name: str) -> dict[str, str]:
    """Return the facts that do not come back, and what is seen instead, without a collector."""
    recording = taken()[name]
    facts = facts_of(recording, views_of_rows(rows_of_recording(recording)))
    return {fact.name: fact.seen for fact in facts if fact.is_known and not fact.holds}


@pytest.mark.long
@pytest.mark.parametrize("name", taken())
def test_what_the_bytes_hold_comes_back_or_is_a_known_miss(name: str) -> None:
    known = known_misses(name)
    assert {fact: seen for fact, seen in missed(name).items() if fact not in known} == {}
    assert known.keys() - missed(name).keys() == set(), "these come back now: strike them off the table"


@pytest.mark.soak
def test_a_collector_that_has_all_of_them_gives_back_the_same() -> None:
    for name, facts in scores(list(taken().values())).items():
        assert {fact.name: fact.seen for fact in facts if not fact.holds} == missed(name), name


def test_what_is_held_back_can_be_read() -> None:
    held = taken(HELD_BACK)
    assert len({name.partition("/")[0] for name in held}) >= 3
    assert not held.keys() & taken().keys()
    for recording in held.values():
        assert recording.traces
        assert any(line["kind"] == "llm" for line in recording.truth)
