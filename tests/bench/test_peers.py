"""The bench beside others: which runs are asked for, how answers are counted, and that it can run with Retrospan alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.load import SHAPES, Load, make_load, move
from bench.peer_programs import Retrospan, spans_of_jaeger, spans_of_otlp
from bench.peer_trial import ASKED, measure, sought_in
from bench.peers import render


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    medium = next(shape for shape in SHAPES if shape.name == "medium")
    return make_load(medium, 400, 1, tmp_path_factory.mktemp("load") / "400.load")


def test_every_run_of_a_load_is_sought_with_all_of_its_spans(load: Load) -> None:
    runs = sought_in(load)
    assert len({run.trace_id for run in runs}) == len(runs) == load.runs
    assert sum(run.spans for run in runs) == load.spans
    assert len({run.conversation for run in runs}) == load.runs
    assert all(run.began < run.ended and run.service.startswith("agents-") for run in runs)


def test_a_load_that_was_moved_is_the_same_but_for_its_times(load: Load) -> None:
    before = sought_in(load)
    move(load, 1_800_000_000 * 10**9)
    after = sought_in(load)
    assert max(run.ended for run in after) == 1_800_000_000 * 10**9
    assert len({old.began - new.began for old, new in zip(before, after, strict=True)}) == 1
    assert [(run.trace_id, run.spans, run.ended - run.began) for run in after] == [
        (run.trace_id, run.spans, run.ended - run.began) for run in before
    ]


def test_spans_are_read_from_each_form_of_an_answer() -> None:
    first, second = {"spanID": "a"}, {"spanID": "b"}
    assert spans_of_jaeger([{"data": [{"spans": [first, second, first]}]}]) == 2
    assert spans_of_jaeger([{"data": None, "errors": [{"code": 404}]}]) == spans_of_jaeger(None) == 0
    batches = [{"scopeSpans": [{"spans": [{"spanId": "a"}]}, {"spans": [{"spanId": "a"}, {"spanId": "b"}]}]}]
    for answer in ({"batches": batches}, {"result": {"resourceSpans": batches}}):
        assert [span["spanId"] for span in spans_of_otlp([answer])] == ["a", "a", "b"]
    assert spans_of_otlp([{}]) == spans_of_otlp(None) == []


@pytest.mark.long
def test_retrospan_answers_all_that_is_asked_and_loses_nothing(load: Load, tmp_path: Path) -> None:
    figures = measure(Retrospan(), load, load, tmp_path)
    assert (figures["found"], figures["lost"]) == (min(ASKED, load.runs), 0)
    assert all(figures[name] > 0 for name in ("acks", "queryable", "idle", "peak", "disk", "start_full"))
    page = render({"Version": "1"}, load, {"Retrospan": [figures, figures]})
    (row,) = [line for line in page.splitlines() if "lost by kill -9" in line]
    assert row.split("|")[2].strip() == "0"
