"""Forms that agents' newest instrumentations were seen to send: what is particular in each is a rule for all."""

from __future__ import annotations

import json

import pytest
from made_runs import agent, rows, said, tool

ASKED = said("user", "Is it cold?")


def ended(reason: str, text: str = "The context is too long.") -> str:
    return json.dumps([{**said("assistant", text), "finish_reason": reason}])


@pytest.mark.parametrize(("reason", "outcome"), [("error", "error"), ("failed", "error"), ("stop", "ok")])
def test_an_agent_whose_answer_ended_with_an_error_did_not_answer(reason: str, outcome: str) -> None:
    top = agent(
        gen_ai__input__messages=json.dumps([ASKED]),
        gen_ai__output__messages=ended(reason),
        gen_ai__request__model="m",
    )
    found = rows(top, tool(1, "look", gen_ai__tool__call__id="c1", result="Yes."))
    (run,) = found.runs
    assert run.outcome == outcome
    assert run.output == (None if outcome == "error" else "The context is too long.")


def test_an_answer_that_tells_of_an_end_like_an_error_is_an_answer() -> None:
    text = 'It says {"finish_reason": "error"}.'
    (run,) = rows(agent(gen_ai__output__messages=ended("stop", text))).runs
    assert (run.outcome, run.output) == ("ok", text)
