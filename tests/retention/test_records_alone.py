"""Payloads of runs that log records alone tell go like any other: what was done stays known, and nothing that was said."""

from __future__ import annotations

import pytest
from keeping import Keeper
from told_scenes import sent_by

from retrospan.ingest.otlp.prompt_traces import with_traces
from retrospan.ingest.retention.policy.policy import read_policy

POLICY = read_policy('[payloads]\nok = "2d"\nerror = "2d"\n', "payloads.toml")
SCENES = ("claude-code.normal", "claude-code.denied", "codex.retry")
_RUNS = """
SELECT run_id, outcome, model_calls, tool_calls, errors, input_tokens, output_tokens, conversation_id, toString(cost)
FROM runs
ORDER BY run_id
"""
_STEPS = "SELECT run_id, step_kind, name, status, toString(duration_ms) FROM steps ORDER BY run_id, step"


@pytest.mark.long
def test_what_was_done_stays_when_what_was_said_goes(keeper: Keeper) -> None:
    for scene in SCENES:
        for body in sent_by(scene):
            keeper.log.append(tenant="default", logs=with_traces(body), items=1)
    keeper.settle()
    runs, steps = keeper.rows(_RUNS), keeper.rows(_STEPS)
    assert len(runs) == 3
    assert keeper.rows("SELECT count() FROM runs WHERE position(input, 'plum-2207') > 0") == [[3]]
    keeper.after(3)
    assert len(keeper.apply(POLICY)) == 3
    keeper.settle()
    assert (keeper.rows(_RUNS), keeper.rows(_STEPS)) == (runs, steps)
    assert keeper.rows("SELECT DISTINCT input, output FROM runs") == [[None, None]]
    for table in ("raw_logs", "canon_values", "canon_tool_calls", "canon_steps", "canon_runs"):
        where = f"SELECT count() FROM {table} WHERE position(toString(tuple(*)), 'plum-2207') > 0"
        assert keeper.rows(where) == [[0]], table
    assert all(not checked.wrong for checked in keeper.verify())
