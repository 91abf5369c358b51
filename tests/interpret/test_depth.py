"""Work grows with the depth of a run and no faster, whatever is nested. Calls of functions are counted, not time."""

from __future__ import annotations

import sys
from itertools import product

import pytest
from bench.deep_run import SHAPES, DeepRun
from bench.long_run import requests_of
from spans import read_run, spans_of_requests

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.span import Span

DEPTH = 200
#: A run twice as deep has twice the work; sorting and searching take their logarithms beside it.
MOST = 2.5

OPTIONS: dict[str, dict[str, bool]] = {
    "nested": {},
    "leaves": {"leaves": True},
    "failed": {"failed": True},
    "failed-leaves": {"failed": True, "leaves": True},
    "events": {"events": True},
    "at-once": {"apart": False, "leaves": True},
    "around": {"around": True},
}


def _spans(depth: int, shape: str, option: str) -> list[Span]:
    return spans_of_requests([*requests_of(DeepRun(depth, *SHAPES[shape], **OPTIONS[option]).spans(), 500)])


def _calls(spans: list[Span]) -> int:
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        rows_of(read_run("run", spans), "default", 1, None)
    finally:
        sys.setprofile(None)
    return count


#: Those that took the square of their depth, each in its own way; all pairs are tried by the long tests.
_USUAL = {
    ("model-calls", "nested"),
    ("mixed", "nested"),
    ("named-agents", "failed"),
    ("transcripts", "leaves"),
    ("plain", "failed-leaves"),
    ("effects", "at-once"),
    ("states", "events"),
    ("agents", "around"),
}


@pytest.mark.parametrize(
    ("shape", "option"),
    [
        pytest.param(
            *pair, marks=[] if pair in _USUAL else [pytest.mark.soak if place % 4 else pytest.mark.long]
        )
        for place, pair in enumerate(product(sorted(SHAPES), sorted(OPTIONS)))
    ],
)
def test_a_run_twice_as_deep_takes_twice_the_work(shape: str, option: str) -> None:
    once, twice = (_calls(_spans(depth, shape, option)) for depth in (DEPTH, 2 * DEPTH))
    assert twice < MOST * once


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_depth_is_not_a_limit(shape: str) -> None:
    """Deeper than Python's stack, several times."""
    run = read_run("run", _spans(2_000, shape, "nested"))
    assert len(run.tree.spans) >= 2_000
    assert run.outcome == "ok"


def _rows(depth: int, shape: str, option: str = "nested") -> Rows:
    return rows_of(read_run("run", _spans(depth, shape, option)), "default", 1, None)


def test_nested_model_calls_are_one_request() -> None:
    (call,) = _rows(2_000, "model-calls").model_calls
    assert call.span_id == f"{1:016x}"


def test_tools_in_tools_of_the_same_name_are_one_execution_and_of_others_are_many() -> None:
    assert len(_rows(2_000, "tools").tool_calls) == 1
    assert len(_rows(2_000, "other-tools").tool_calls) == 2_000


def test_an_error_that_climbs_is_one_however_far() -> None:
    assert len(_rows(2_000, "agents", "failed").failures) == 1


def test_a_cycle_of_any_length_has_no_parents() -> None:
    run = read_run("run", _spans(2_000, "agents", "around"))
    assert all(run.tree.parent(normalized) is None for normalized in run.tree.spans)


def test_the_effect_that_the_innermost_tells_counts() -> None:
    (effect,) = _rows(2_000, "effects").effects
    assert effect.span_id == f"{2_000:016x}"
