"""The first prompt of a turn that leaves out the calls of earlier ones is completed by what the run before came to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import RUN, agent, asks, chat, returned, said, tool
from spans import read_run

from retrospan.ingest.interpret.run import InterpretedRun
from retrospan.ingest.interpret.spans.span import Span

HI, THANKS = said("user", "How is Oslo?"), said("user", "Thanks. And Bergen?")
SNOW = {"sky": "snow"}
CALL, OTHER = asks("weather", {"city": "Oslo"}, "c1"), asks("weather", {"city": "Bergen"}, "c2")
BEFORE: list[Any] = [HI, said("assistant", CALL), returned("c1", SNOW), said("assistant", "It snows.")]
BARE = said("tool", json.dumps(SNOW))
#: How that is read.
RESULT: dict[str, object] = {"role": "tool", "parts": [{"type": "tool_call_response", "response": SNOW}]}


def first_prompt(*told: dict[str, object], before: list[Any] | None = None, **more: Any) -> InterpretedRun:
    stated: dict[str, Any] = {"gen_ai__conversation__id": "s-1", **more}
    return read_run(
        RUN, [agent(**stated), chat(1, told, "Rain.", **stated)], BEFORE if before is None else before
    )


@pytest.mark.parametrize(
    "result",
    [
        returned("c1", SNOW),
        returned(None, SNOW),
        BARE,
        {**BARE, "role": "unknown"},
    ],
    ids=["a result", "without id", "a text", "of who is not known"],
)
def test_the_calls_of_the_run_before_stood_there_too(result: dict[str, object]) -> None:
    run = first_prompt(HI, result, said("assistant", "It snows."), THANKS)
    call = run.calls.models[0]
    assert (call.history, call.input) == ("inferred", [*BEFORE, THANKS])
    assert (run.wants_previous_run, run.used_previous_run, run.problems) == (True, True, [])


def test_text_before_a_call_is_told_alone() -> None:
    before = [HI, said("assistant", "I look.", CALL), *BEFORE[2:]]
    told = [HI, said("assistant", "I look."), BARE, said("assistant", "It snows."), THANKS]
    assert first_prompt(*told, before=before).calls.models[0].input == [*before, THANKS]


def test_prompts_after_it_go_on_from_it() -> None:
    stated: dict[str, Any] = {"gen_ai__conversation__id": "s-1"}
    told = [HI, BARE, said("assistant", "It snows."), THANKS]
    spans: list[Span] = [
        agent(**stated),
        chat(1, told, OTHER, **stated),
        tool(3, "weather", {"city": "Bergen"}, {"sky": "rain"}, gen_ai__tool__call__id="c2"),
        chat(5, [*told, said("tool", '{"sky": "rain"}')], "Rain.", **stated),
    ]
    last = read_run(RUN, spans, BEFORE).calls.models[1]
    rest = [THANKS, said("assistant", OTHER), returned("c2", {"sky": "rain"})]
    assert (last.history, last.input) == ("inferred", [*BEFORE, *rest])


@pytest.mark.parametrize(
    "told",
    [
        [HI, returned("c1", {"sky": "sun"}), said("assistant", "It snows."), THANKS],
        [HI, returned("c9", SNOW), said("assistant", "It snows."), THANKS],
        [HI, returned("c1", SNOW), said("assistant", "It rains."), THANKS],
        [said("user", "Hm?"), returned("c1", SNOW), said("assistant", "It snows."), THANKS],
        [HI, returned("c1", SNOW), THANKS, said("assistant", "It snows.")],
        [HI, returned("c1", SNOW), said("assistant", "It snows.")],
        [HI, said("user", json.dumps(SNOW)), RESULT, said("assistant", "It snows."), THANKS],
    ],
    ids=[
        "other result",
        "other id",
        "other answer",
        "other question",
        "other order",
        "nothing new",
        "quoted",
    ],
)
def test_a_prompt_that_begins_otherwise_stays(told: list[dict[str, object]]) -> None:
    run = first_prompt(*told)
    assert (run.calls.models[0].history, run.used_previous_run) == ("full", False)
    assert run.calls.models[0].input == told


@pytest.mark.parametrize(
    "told",
    [
        [HI],
        [HI, said("assistant", "It snows."), THANKS],
        [HI, said("assistant", CALL), returned("c1", SNOW), said("assistant", "It snows."), THANKS],
        [HI, returned("c1", SNOW)],
    ],
    ids=["a first turn", "without results", "with its calls", "of the turn itself"],
)
def test_the_run_before_is_not_asked_for_where_nothing_is_left_out(told: list[dict[str, object]]) -> None:
    assert not first_prompt(*told).wants_previous_run


def test_without_a_stated_conversation_no_run_is_the_one_before() -> None:
    told = [HI, returned("c1", SNOW), said("assistant", "It snows."), THANKS]
    run = read_run(RUN, [agent(), chat(1, told, "Rain.")], BEFORE)
    assert (run.wants_previous_run, run.calls.models[0].history) == (False, "full")
    assert [problem.field for problem in run.problems] == ["input_messages"]
