"""A call that the record does not answer ends the replay, and the error names the step and the field."""

from __future__ import annotations

import openai
import pytest
from replay.agent import Agent, missed
from replay.recorded import (
    QUESTION,
    SYSTEM,
    bundle,
    model_call,
    text,
    weather_bundle,
)

from retrospan.exporter.replay import replay, tool
from retrospan.schemas.errors import ReplayMiss


def test_another_prompt_is_a_miss_that_names_step_and_field() -> None:
    found = missed(Agent(system="You are Orla, and curt."), weather_bundle())
    assert (found.step, found.field) == (1, "system[0].content")
    assert '"You are Orla."' in str(found)
    assert '"You are Orla, and curt."' in str(found)


def test_a_renamed_tool_is_a_miss_that_names_both() -> None:
    agent = Agent()

    @tool
    def weather_of(city: str) -> dict[str, int]:
        agent.ran.append(city)
        return {}

    agent.tools["get_weather"] = weather_of
    found = missed(agent, weather_bundle())
    assert "no call of weather_of" in str(found)
    assert "get_weather" in str(found)


def test_another_argument_is_a_miss_that_names_it() -> None:
    agent = Agent()
    inner = agent.tools["get_weather"]
    agent.tools["get_weather"] = lambda city: inner(city=f"{city}, Norway")
    found = missed(agent, weather_bundle())
    assert (found.step, found.field) == (2, "get_weather.arguments.city")
    assert '"Oslo, Norway"' in str(found)


def test_an_extra_call_is_a_miss_that_says_that_it_was_given_out() -> None:
    agent = Agent()
    inner = agent.tools["get_weather"]

    def twice(city: str) -> object:
        inner(city=city)
        return inner(city=city)

    agent.tools["get_weather"] = twice
    assert "get_weather was recorded 1 time" in str(missed(agent, weather_bundle()))
    other = Agent()

    def both() -> None:
        other.run()
        other.run()

    with (
        pytest.raises(ReplayMiss, match=r"extra call.*call 1.*recorded 1 time and already given out"),
        replay(weather_bundle()),
    ):
        both()


def test_a_missing_call_is_a_miss_and_a_run_that_ends_early_a_prefix() -> None:
    agent = Agent()
    agent.tools["get_weather"] = lambda city: None
    found = missed(agent, weather_bundle())
    assert (
        found.field == "messages[2].parts[0].response.temp_c"
        or found.field == "messages[2].parts[0].response"
    )
    with replay(weather_bundle()) as r:
        Agent().client.chat.completions.create(
            model="gpt-4o-mini",
            messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}],
        )
    assert (r.report.verdict, r.report.left) == ("prefix", 1)


def test_a_miss_that_the_agent_swallows_ends_the_replay_all_the_same() -> None:
    agent = Agent(system="Other.", swallows=True)
    with pytest.raises(ReplayMiss), replay(weather_bundle()):
        assert agent.run() == "sorry"
        # Even what is in the record is not answered any more.
        agent.system = SYSTEM
        assert agent.run() == "sorry"


def test_a_miss_is_not_tried_again() -> None:
    sent: list[object] = []
    agent = Agent(system="Other.")
    http = openai.DefaultHttpxClient(event_hooks={"request": [sent.append]})
    agent.client = openai.OpenAI(api_key="none", base_url="http://model.invalid/v1", http_client=http)
    missed(agent, weather_bundle())
    assert len(sent) == 1


def test_what_cannot_be_answered_says_why() -> None:
    unknown = bundle(
        model_call(1, [text("user", QUESTION)], None, replayable=False, reason="contents were not captured")
    )
    assert "contents were not captured" in str(missed(Agent(), unknown))


def test_a_record_without_calls_answers_nothing() -> None:
    assert "holds no model call" in str(missed(Agent(), bundle()))
