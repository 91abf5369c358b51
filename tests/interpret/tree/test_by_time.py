"""Spans that ran while another did, found by time: just those that looking at all of them finds."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from made_runs import RUN, act, agent, chat
from spans import read_run

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.by_time import ByTime

TIMES = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=12)


def made(times: list[tuple[int, int]]) -> list[NormalizedSpan]:
    return [
        NormalizedSpan(sent=act("chat", at, takes=takes), operation="inference", dialect="")
        for at, takes in times
    ]


@given(TIMES, TIMES)
def test_all_that_ran_meanwhile_are_among_those_that_are_near(
    times: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    spans = made(times)
    by_time = ByTime(spans)
    for span in made(others):
        near = by_time.near(span)
        meanwhile = [
            each
            for each in spans
            if each.sent.started_at <= span.sent.until and span.sent.started_at <= each.sent.until
        ]
        assert set(meanwhile) <= {*near} <= {*spans}
        assert near == sorted(near, key=lambda each: each.sent.started_at)


def test_few_are_near_where_all_are_short() -> None:
    spans = made([(at, 1) for at in range(0, 2_000, 2)])
    assert len(ByTime(spans).near(spans[500])) <= 3


def test_a_run_of_many_requests_without_contents_is_read_request_by_request() -> None:
    """By their ids alone: looking at all of them for each took minutes."""
    told: dict[str, Any] = {"gen_ai__request__model": "m-1", "gen_ai__usage__output_tokens": 3}
    spans = [chat(at * 2, gen_ai__response__id=f"r{at}", **told) for at in range(3_000)]
    assert len(read_run(RUN, [agent(takes=9_000), *spans]).calls.models) == 3_000
