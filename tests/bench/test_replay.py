"""When the page of `python -m bench.replay` says that a mark is missed, and that what it measures are replays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.replay import QUESTION, Calls, Found, Took, measure, measure_suite, render
from bench.replay_model import answer, bundle_of, run_of

from retrospan.schemas.bundle.container import read_bundle, write_bundle


def found(
    live: float = 60.0,
    replay: float = 1.0,
    suite: float = 59.0,
    wall: float = 0.0049,
    processor: float = 0.0039,
) -> Found:
    return Found(
        calls=20,
        wait=0.4,
        live=live,
        # The least of several counts: others use the machine as well.
        replays=[Took(9.0, 9.0, ""), Took(replay, 0.5, "")],
        bare=[Calls([0.003] * 20, [0.002] * 20), Calls([9.0] * 20, [9.0] * 20)],
        replayed=[Calls([9.0] * 20, [9.0] * 20), Calls([wall] * 20, [processor] * 20)],
        suite_runs=200,
        suite_calls=10,
        suite=Took(suite, 70.0, ""),
    )


@pytest.mark.parametrize(
    ("given", "missed"),
    [
        ({}, ""),
        ({"live": 59.9}, "a run of 20 calls"),
        ({"replay": 1.01}, "a run of 20 calls"),
        ({"suite": 60.1}, "a suite of 200 runs"),
        ({"wall": 0.0051}, "replay's overhead a call, wall"),
        ({"processor": 0.0041}, "replay's overhead a call, processor"),
    ],
)
def test_a_mark_is_met_by_the_least_time(given: dict[str, float], missed: str) -> None:
    page, met = render(found(**given), {"Memory": "much"})
    assert met is not bool(missed)
    lines = [line for line in page.splitlines() if "**missed**" in line]
    assert [line.startswith(f"| {missed}") for line in lines] == [True] * bool(missed)
    prose = [line for line in page.splitlines() if not line.startswith("|")]
    assert max(map(len, prose)) <= 120


def test_the_run_is_what_was_asked_and_answered(tmp_path: Path) -> None:
    messages: list[dict[str, object]] = [{"role": "user", "content": QUESTION}]
    first = json.dumps({"model": "reader-1", "messages": messages}).encode()
    said = answer(first, 2)["choices"][0]["message"]
    messages += [said, {"role": "tool", "tool_call_id": "call_1", "content": "Page 1."}]
    run = run_of([first, json.dumps({"model": "reader-1", "messages": messages}).encode()], QUESTION, "run-1")
    write_bundle(tmp_path / "run.bundle", bundle_of(run))
    (read,) = read_bundle(tmp_path / "run.bundle").runs
    (tool,) = read.tool_calls()
    assert (tool.arguments, tool.result, len(read.model_calls())) == ({"page": 1}, "Page 1.", 2)


@pytest.mark.long
def test_a_small_measurement_replays_whole_runs(tmp_path: Path) -> None:
    # Whatever ends with another code than 0 raises: a replay that is not identical does.
    small = measure(tmp_path, 3, 0.01, 1)
    measure_suite(small, tmp_path, 2, 3)
    assert small.suite is not None and "2 of 2 golden runs" in small.suite.printed
    assert len(small.replayed[0].walls) == len(small.bare[0].walls) == 3
    assert small.live > 0.03
