"""What makes `drift` cheaper changes no row of it: shares counted by places, and the limit of large samples."""

from __future__ import annotations

from typing import Any

import pytest
from populations import Kind, made, write

from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.queries import catalogue

_SIDES = {
    "baseline_from": "",
    "baseline_to": "",
    "baseline_version": "a",
    "candidate_from": "",
    "candidate_to": "",
    "candidate_version": "b",
    "agent": "",
}
_PLACES = "arrayMap(place -> countEqual(places, place) / length(places), arrayDistinct(places))"
_TEXTS = "arrayMap(item -> countEqual(items, item) / length(items), arrayDistinct(items))"
_LIMIT = "> 4000000"


def _rows(store: EmbeddedStore, replaced: str, put: str) -> list[dict[str, Any]]:
    view = catalogue.load("drift")
    assert replaced in view.statement
    rows = store.rows(view.statement.replace(replaced, put), _SIDES, {"max_threads": 1})
    names = [column.name for column in view.columns]
    return sorted((dict(zip(names, row, strict=True)) for row in rows), key=lambda row: str(row["metric"]))


@pytest.fixture
def compared(views: EmbeddedStore) -> EmbeddedStore:
    """A store in which the runs of two versions differ, some without any call."""
    write(views, "default", "a", made("before", 300))
    write(
        views,
        "default",
        "b",
        made("after", 260, Kind(tokens=4500, seconds=9, shares=(0.2, 0.3, 0.2, 0.2, 0.1))),
    )
    return views


def test_shares_are_the_same_however_they_are_counted(compared: EmbeddedStore) -> None:
    by_place, by_text = _rows(compared, _PLACES, _PLACES), _rows(compared, _PLACES, _TEXTS)
    assert len(by_place) > 10
    assert by_place == by_text


def test_the_limit_of_large_samples_says_nearly_the_same_and_never_less(compared: EmbeddedStore) -> None:
    exact, limit = _rows(compared, _LIMIT, "> 1e18"), _rows(compared, _LIMIT, "> 0")
    tested = 0
    for one, other in zip(exact, limit, strict=True):
        tested += one["statistic"] == "kolmogorov_smirnov"
        assert {**one, "p_value": 0} == {**other, "p_value": 0}
        if one["p_value"] is not None and one["p_value"] > 1e-4:
            assert one["p_value"] <= other["p_value"] * (1 + 1e-9)
            assert other["p_value"] <= one["p_value"] * 1.25
    assert tested == 4
