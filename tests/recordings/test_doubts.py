"""A reading that is wrong says that it is in doubt, one that is right is silent: over all recordings."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from recordings.doubts import Reading, readings, report
from recordings.known_misses import known_silent

#: Share of the right readings that may list a problem.
MOST_ALARMED = 0.02

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def sorted_out() -> Mapping[str, list[Reading]]:
    return report(list(readings()))


def test_a_wrong_reading_lists_a_problem(sorted_out: Mapping[str, list[Reading]]) -> None:
    silent, known = {each.name: each.wrong for each in sorted_out["silent"]}, known_silent()
    assert {name: wrong for name, wrong in silent.items() if name not in known} == {}
    assert known.keys() - silent.keys() == set(), (
        "these are right or list a problem now: strike them off the table"
    )


def test_a_right_reading_lists_none(sorted_out: Mapping[str, list[Reading]]) -> None:
    alarmed, right = sorted_out["alarmed"], sorted_out["right"]
    assert len(alarmed) <= MOST_ALARMED * (len(alarmed) + len(right)), alarmed
