"""Which calls are made for real: after a step, in a fork and in a shadow; and what a fork changes."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import pytest
import requests
from replay.agent import Agent
from replay.conftest import Provider, said_by_chat
from replay.recorded import (
    ANSWER,
    QUESTION,
    SYSTEM,
    bundle,
    model_call,
    text,
    weather_bundle,
)

from retrospan.exporter.replay import Edits, replay
from retrospan.schemas.errors import ReplayMiss, ReplayRefused


def test_calls_go_out_only_after_the_recorded_steps(provider: Provider) -> None:
    agent = Agent(url=provider.url)
    with replay(weather_bundle(), mode="until", until=3) as r:
        assert agent.run() == "said live"
    assert agent.ran == []
    assert (r.report.verdict, len(provider.asked), r.report.answered) == ("live", 1, [1])
    # Before that step a miss is a miss, and nothing goes out.
    with pytest.raises(ReplayMiss), replay(weather_bundle(), mode="until", until=3):
        Agent(url=provider.url, system="Other.").run()
    assert len(provider.asked) == 1


def test_what_cannot_be_read_does_not_reach_a_named_model_before_the_step(provider: Provider) -> None:
    with (
        pytest.raises(ReplayRefused, match="was refused"),
        replay(weather_bundle(), mode="until", until=3, hosts=[provider.host]),
    ):
        httpx.post(f"{provider.url}/chat/completions", content=b"no JSON")
    assert provider.asked == []


def test_a_fork_changes_prompt_and_fields_from_its_step_on(provider: Provider) -> None:
    edits = Edits(prompt="Be curt.", request={"temperature": 0, "model": "gpt-5"})
    with replay(weather_bundle(), mode="edit", until=3, edits=edits):
        assert Agent(url=provider.url).run() == "said live"
    (sent,) = provider.asked
    assert (sent["model"], sent["temperature"]) == ("gpt-5", 0)
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "tool"]
    assert sent["messages"][0]["content"] == "Be curt."


def test_a_fork_gives_an_answer_without_asking(provider: Provider) -> None:
    with replay(weather_bundle(), mode="edit", until=3, edits=Edits(answer="I do not know.")):
        assert Agent(url=provider.url).run() == "I do not know."
    assert provider.asked == []


def test_a_fork_gives_a_result_without_running_the_tool(provider: Provider) -> None:
    agent = Agent(url=provider.url)
    with replay(weather_bundle(), mode="edit", until=2, edits=Edits(result={"temp_c": 7}, has_result=True)):
        assert agent.run() == "said live"
    assert agent.ran == []
    assert json.loads(provider.asked[0]["messages"][-1]["content"]) == {"temp_c": 7}


@pytest.mark.parametrize("effect", ["write", "destructive", None])
def test_a_tool_that_writes_is_refused_and_named_after_the_recorded_steps(
    provider: Provider, effect: Any
) -> None:
    agent = Agent(url=provider.url, effect=effect)
    with (
        replay(weather_bundle("unknown"), mode="until", until=2) as r,
        pytest.raises(ReplayRefused, match="get_weather was not run"),
    ):
        agent.run()
    assert agent.ran == []
    assert r.report.refused[0].what == "the tool get_weather"


def test_a_tool_that_reads_or_is_named_runs_after_the_recorded_steps(provider: Provider) -> None:
    for effect, named in (("read", ()), ("write", ("get_weather",))):
        agent = Agent(url=provider.url, effect=effect)
        with replay(weather_bundle(), mode="until", until=2, live_tools=named):
            assert agent.run() == "said live"
        assert agent.ran == ["Oslo"]


def test_a_shadow_lets_calls_out_and_says_what_differs(provider: Provider) -> None:
    record = bundle(model_call(1, [text("user", QUESTION)], text("assistant", ANSWER)))
    with replay(record, mode="shadow") as r:
        assert Agent(url=provider.url).run() == "said live"
    (difference,) = r.report.differences
    assert ANSWER in difference
    assert "said live" in difference


def test_in_a_shadow_answers_are_held_against_those_to_the_same_request_also_side_by_side() -> None:
    """The first to be asked is the last to be answered."""
    others = threading.Event()

    def slow(body: dict[str, Any]) -> dict[str, Any]:
        question = body["messages"][-1]["content"]
        if question == "0":
            others.wait(30)
        elif question == "3":
            others.set()
        return said_by_chat(f"answer {question}")

    record = bundle(
        *(model_call(n + 1, [text("user", str(n))], text("assistant", f"answer {n}")) for n in range(4))
    )
    provider = Provider(slow)
    try:
        with replay(record, mode="shadow") as r:
            agents = [Agent(url=provider.url) for _ in range(4)]
            threads = [threading.Thread(target=agent.run, args=(str(n),)) for n, agent in enumerate(agents)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        provider.close()
    assert sorted(r.report.answered) == [1, 2, 3, 4]
    assert (r.report.differences, r.report.not_compared) == ([], 0)


def test_a_shadow_says_of_how_many_answers_it_knows_nothing(provider: Provider) -> None:
    record = bundle(model_call(1, [text("user", QUESTION)], text("assistant", ANSWER)))
    body = {
        "model": "gpt-4o-mini",
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}],
    }
    with replay(record, mode="shadow") as r:
        assert requests.post(f"{provider.url}/chat/completions", json=body).json()["id"] == "live"
    assert (r.report.differences, r.report.not_compared) == ([], 1)
    assert "  answers not compared: 1" in r.report.lines()
