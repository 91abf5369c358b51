"""An agent replayed from its record: what it is answered, and that nothing else is run or reached."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from pathlib import Path

import httpx
import openai
import pytest
from replay.agent import Agent, missed
from replay.recorded import (
    ANSWER,
    REFUSED,
    SYSTEM,
    bundle,
    model_call,
    text,
    tool_call,
    weather_bundle,
)

from retrospan.exporter.replay import Edits, replay, tool
from retrospan.exporter.replay.patches import patch
from retrospan.schemas.bundle.container import write_bundle
from retrospan.schemas.bundle.form import CallError
from retrospan.schemas.errors import ConfigError, NotFound, ReplayRefused
from retrospan.schemas.redaction.matching import marker


def test_a_run_is_replayed_and_no_tool_runs() -> None:
    agent = Agent()
    with replay(weather_bundle()) as r:
        assert agent.run() == ANSWER
    assert agent.ran == []
    assert (r.report.verdict, r.report.answered, r.report.results) == ("identical", [1, 3], [2])
    assert agent.tools["get_weather"](city="Oslo") == {"temp_c": 20}


@pytest.mark.long
def test_a_file_is_replayed_a_hundred_times_the_same(tmp_path: Path) -> None:
    """Of two runs that diverge each goes its own way, every time."""
    for name, answer in (("a", "It snows."), ("b", "It rains.")):
        write_bundle(tmp_path / f"{name}.bundle", weather_bundle(answer=answer))
    agent = Agent()
    for _ in range(100):
        for name, answer in (("a", "It snows."), ("b", "It rains.")):
            with replay(tmp_path / f"{name}.bundle") as r:
                assert agent.run() == answer
            assert r.report.verdict == "identical"
    assert agent.ran == []


def test_calls_beside_each_other_may_come_in_any_order() -> None:
    cities = ["Oslo", "Bergen", "Bodø", "Tromsø"] * 5
    record = bundle(
        *(
            model_call(n, [text("user", f"{city}?")], text("assistant", f"{city}!"))
            for n, city in enumerate(cities, 1)
        )
    )
    said: list[str] = []

    def ask(agent: Agent, city: str) -> None:
        said.append(agent.run(f"{city}?"))

    with replay(record) as r:
        agent = Agent()
        threads = [threading.Thread(target=ask, args=(agent, city)) for city in reversed(cities)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(said) == sorted(f"{city}!" for city in cities)
    assert sorted(r.report.answered) == [*range(1, 21)]
    assert r.report.verdict == "identical"


def test_equal_requests_get_their_answers_in_the_recorded_order() -> None:
    asked = [text("user", "again?")]
    record = bundle(*(model_call(n, asked, text("assistant", f"try {n}")) for n in (1, 2, 3)))
    with replay(record):
        assert [Agent().run("again?") for _ in range(3)] == ["try 1", "try 2", "try 3"]


def test_a_recorded_error_is_raised_as_it_was_and_not_tried_again() -> None:
    record = bundle(model_call(1, [text("user", "long")], None, error=REFUSED))
    with replay(record) as r, pytest.raises(openai.BadRequestError) as found:
        Agent().run("long")
    assert found.value.code == "context_length_exceeded"
    assert r.report.verdict == "identical"


def test_a_client_that_tries_again_by_itself_gets_the_recorded_error_again() -> None:
    error = CallError(type="RateLimitError", message="slow down", status_code=429)
    asked = [text("user", "hi")]
    record = bundle(model_call(1, asked, None, error=error), model_call(2, asked, text("assistant", "now")))
    body = {
        "model": "gpt-4o-mini",
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "hi"}],
    }
    url = "http://model.invalid/v1/chat/completions"
    with replay(record) as r:
        statuses = [
            httpx.post(url, json=body, headers={"x-stainless-retry-count": tried}).status_code
            for tried in ("0", "1", "2", "0")
        ]
    assert statuses == [429, 429, 429, 200]
    assert r.report.verdict == "identical"


def test_a_tool_that_failed_fails_with_its_own_error() -> None:
    class RecordLocked(Exception):
        pass

    ran: list[str] = []

    @tool
    def change(record: str) -> None:
        ran.append(record)

    record = bundle(
        tool_call(
            1,
            "change",
            {"record": "C-1"},
            None,
            error=CallError(type="RecordLocked", message="C-1 is locked"),
        ),
        tool_call(
            2, "change", {"record": "C-2"}, None, error=CallError(type="gone.Lost", message="C-2 is lost")
        ),
    )
    with replay(record):
        with pytest.raises(RecordLocked, match="C-1 is locked"):
            change("C-1")
        with pytest.raises(Exception, match="C-2 is lost"):
            change("C-2")
    assert ran == []


def test_async_tools_and_those_with_defaults_are_answered() -> None:
    ran: list[str] = []

    @tool(name="search")
    async def find(query: str, top_k: int = 2) -> list[str]:
        ran.append(query)
        return []

    record = bundle(
        tool_call(1, "search", {"query": "a"}, ["x"]),
        tool_call(2, "search", {"query": "b", "top_k": 2}, ["y"]),
    )
    with replay(record) as r:
        assert asyncio.run(find("a")) == ["x"]
        assert asyncio.run(find(query="b")) == ["y"]
    assert (ran, r.report.verdict) == ([], "identical")


def test_a_request_that_is_nested_without_end_does_not_break_the_agent() -> None:
    deep = "[" * 600 + "]" * 600
    body = f'{{"model": "gpt-4o-mini", "messages": {deep}}}'
    with replay(weather_bundle()) as r, pytest.raises(ReplayRefused):
        httpx.post("http://model.invalid/v1/chat/completions", content=body)
    assert r.report.refused


def test_a_tool_of_a_class_that_came_where_another_was_never_runs() -> None:
    """Python gives a new class the place in memory of one that is gone."""
    places = set[int]()
    gc.collect()
    gc.freeze()  # or each look below would go through all that the process holds
    for _ in range(200):

        class Owner:
            def act(self) -> str:
                return "ran"

        places.add(id(Owner))
        assert patch(Owner, "act", lambda original, owner: "answered") is not None
        assert patch(Owner, "act", lambda original, owner: "twice") is None
        assert Owner().act() == "answered"
        del Owner
        gc.collect()
    gc.unfreeze()
    assert len(places) < 200, "no place was used again: this shows nothing"


def test_secrets_are_taken_out_of_a_request_before_it_is_compared() -> None:
    hidden = f"My key is {marker('api-key')}"
    record = bundle(model_call(1, [text("user", hidden)], text("assistant", "noted")))
    asked = "My key is sk-proj-" + "a1B2c3D4" * 6
    with replay(record, redaction="secrets") as r:
        assert Agent().run(asked) == "noted"
    assert r.report.verdict == "identical"
    missed(Agent(), record, asked)


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ConfigError, match="wants until="):
        replay(weather_bundle(), mode="until")
    with pytest.raises(ConfigError, match="edits go with"):
        replay(weather_bundle(), edits=Edits(prompt="x"))
    with pytest.raises(ConfigError, match="counted from 1"):
        replay(weather_bundle(), mode="until", until=0)
    with pytest.raises(NotFound, match="run-1"):
        replay(weather_bundle(), run="run-2")


def test_a_replay_inside_a_replay_is_refused() -> None:
    with (
        replay(weather_bundle()),
        pytest.raises(ConfigError, match="run-1 is under way"),
        replay(weather_bundle()),
    ):
        pass


def test_the_error_of_an_agent_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError), replay(weather_bundle()):
        raise ZeroDivisionError


def test_nothing_is_reached_and_the_caller_is_named() -> None:
    with replay(weather_bundle()) as r:
        with pytest.raises(ReplayRefused, match=r"example\.com"):
            socket.getaddrinfo("example.com", 443)
        with pytest.raises(ReplayRefused, match=r"127\.0\.0\.1:9"):
            socket.create_connection(("127.0.0.1", 9))
    assert all("test_nothing_is_reached" in refused.caller for refused in r.report.refused)
    assert len(r.report.refused) == 2
