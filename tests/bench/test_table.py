"""The page that the benchmark writes: median, range, and which marks are met."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.load import SHAPES, Load
from bench.measure import Figures
from bench.table import MARKS, ROWS, Measured, render, spread

MEDIUM = next(shape for shape in SHAPES if shape.name == "medium")
LOAD = Load(Path("load.bin"), spans=2_000, runs=200, requests=20, bytes=3_000_000)


def figures(**given: float) -> Figures:
    return {name: 1_000.0 for name, _, _ in ROWS} | given


def cells(page: str, start: str) -> list[list[str]]:
    lines = [line for line in page.splitlines() if line.startswith(f"| {start}")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_figure_is_its_median_with_the_range_behind_it() -> None:
    page = render({}, [Measured(SHAPES[0], LOAD, LOAD, [figures(acks=n) for n in (900.0, 4e4, 1200.0)])], 1.0)
    (row,) = cells(page, "durable acks over gRPC")
    assert row[1] == "1,200 (900 - 40,000)"
    assert spread([2.0, 2.0], lambda value: f"{value:.1f}") == "2.0"


@pytest.mark.parametrize(
    ("given", "missed"),
    [
        ({}, []),
        ({"acks_ratio": 0.79}, ["acks_ratio"]),
        ({"queryable_ratio": 0.59, "memory": 1.5e9}, ["queryable_ratio", "memory"]),
    ],
)
def test_a_mark_is_met_or_missed_by_its_median(given: Figures, missed: list[str]) -> None:
    reached = {mark.figure: mark.bound if mark.at_least else mark.bound * 0.99 for mark in MARKS}
    page = render({}, [Measured(MEDIUM, LOAD, LOAD, [figures(**{**reached, **given})])], 1.0)
    marks, _, _ = page.partition("## All figures")
    for mark in MARKS:
        if mark.loads and MEDIUM.name not in mark.loads:
            assert not cells(marks, f"{mark.what} ")
            continue
        (row,) = cells(marks, f"{mark.what} ")
        assert row[-1] == ("**missed**" if mark.figure in missed else "met")


def test_every_shape_has_a_column_and_every_figure_a_row() -> None:
    measured = [Measured(shape, LOAD, LOAD, [figures()]) for shape in SHAPES]
    page = render({"Processor": "one of them, 2 cores"}, measured, 12.0)
    assert "- Processor: one of them, 2 cores" in page
    _, _, every = page.partition("## All figures")
    for _, name, _ in ROWS:
        rows = cells(every, name)
        assert rows
        assert all(len(row) == 1 + len(SHAPES) for row in rows)
