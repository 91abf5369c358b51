"""What many pairs of runs say together: shares, their chances, and when there is no verdict."""

from __future__ import annotations

import pytest

from retrospan.ingest.why.sides.pairs import Pair, PairRows, adjusted, chance_of


def _pairs(cause: str, count: int, /, **row: object) -> list[Pair]:
    said = {
        "identical": not cause,
        "prefix": "none",
        "shown_cause": cause,
        "cause": cause,
        "step_a": 3,
        "step_b": 3,
    }
    return [Pair(f"a{n}", f"b{n}", {**said, **row}) for n in range(count)]


def test_a_cause_that_the_baseline_has_as_often_is_not_apart() -> None:
    rows = PairRows(_pairs("sampling", 20) + _pairs("", 20), _pairs("sampling", 10) + _pairs("", 10))
    assert rows.is_conclusive and not rows.differs()
    assert rows.parted().p_value == 1


def test_one_more_cause_is_apart_while_another_is_not() -> None:
    rows = PairRows(
        _pairs("sampling", 10) + _pairs("prompt", 20) + _pairs("", 10),
        _pairs("sampling", 10) + _pairs("", 30),
    )
    found = {cause: rows.is_apart(share) for cause, share, _ in rows.causes()}
    assert found == {"prompt": True, "sampling": False}
    assert [(step, across, within) for step, across, within in rows.steps()] == [(3, 30, 10)]


def test_a_cause_that_is_rarer_than_within_the_baseline_does_not_count() -> None:
    rows = PairRows(_pairs("", 40), _pairs("sampling", 30) + _pairs("", 10))
    chance = rows.parted().p_value
    assert chance is not None and chance < 0.01
    assert not rows.differs()


def test_pairs_of_which_nothing_is_known_are_neither_equal_nor_different() -> None:
    lost = [Pair("a", "b", None)] * 30
    half_known = _pairs("", 30, identical=False)
    rows = PairRows(lost + half_known, _pairs("", 40))
    assert rows.lacking == (20, 0) and not rows.is_conclusive and not rows.differs()
    assert (rows.parted().across, rows.parted().p_value) == (0, None)


def test_a_run_that_goes_on_differs_by_its_length_and_where_it_goes_on() -> None:
    (pair,) = _pairs("", 1, identical=False, prefix="a", step_a=None, step_b=6)
    assert (pair.outcome, pair.step) == ("length", 6)


def test_a_cause_before_any_step_is_at_the_start() -> None:
    rows = PairRows(_pairs("input", 2, step_a=None, step_b=None))
    assert rows.steps() == [(None, 2, 0)]


def test_another_version_is_not_the_cause_that_is_counted() -> None:
    (pair,) = _pairs("sampling", 1, cause="code")
    assert pair.outcome == "sampling" and pair.is_of_versions


@pytest.mark.parametrize(("found", "sizes", "chance"), [((0, 0), (20, 20), 1.0), ((20, 20), (20, 20), 1.0)])
def test_equal_shares_are_by_chance(found: tuple[int, int], sizes: tuple[int, int], chance: float) -> None:
    assert chance_of(found, sizes) == chance


def test_chances_are_adjusted_as_by_hand() -> None:
    # Benjamini and Hochberg, 1995: p * tests / rank, never above that of a more doubtful one.
    assert adjusted([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert adjusted([]) == []
