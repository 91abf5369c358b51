"""An agent in the cage of its record: what it is answered, where it is stopped, and that nothing gets out."""

from __future__ import annotations

import gc
import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import requests
from replay.conftest import Provider, said_by_chat
from replay.recorded import (
    ANSWER,
    QUESTION,
    REFUSED,
    SYSTEM,
    bundle,
    model_call,
    tells,
    text,
    tool_call,
    weather_bundle,
)

from retrospan.exporter.replay import Edits, replay, tool
from retrospan.exporter.replay.patches import patch
from retrospan.schemas.bundle.container import write_bundle
from retrospan.schemas.bundle.form import Bundle
from retrospan.schemas.errors import ConfigError, NotFound, ReplayMiss, ReplayRefused

Spy = Callable[[str], dict[str, int]]
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]


class Agent:
    """A loop of model and tools, as many write it. Its spy notes each time that a tool really runs."""

    def __init__(
        self, *, system: str = SYSTEM, url: str | None = None, effect: Any = None, swallows: bool = False
    ) -> None:
        self.ran: list[str] = []
        self.system, self.swallows = system, swallows
        self.client = openai.OpenAI(api_key="none", base_url=url or "http://model.invalid/v1")

        @tool(effect=effect)
        def get_weather(city: str) -> dict[str, int]:
            self.ran.append(city)
            return {"temp_c": 20}

        self.tools: dict[str, Callable[..., object]] = {"get_weather": get_weather}

    def run(self, question: str = QUESTION) -> str:
        messages: list[Any] = [
            {"role": "system", "content": self.system},
            {"role": "user", "content": question},
        ]
        for _ in range(5):
            try:
                said = self.client.chat.completions.create(model="gpt-4o-mini", messages=messages)
            except openai.OpenAIError:
                if not self.swallows:
                    raise
                return "sorry"
            message = said.choices[0].message
            if not message.tool_calls:
                return str(message.content)
            messages.append(message.to_dict())
            for call in message.tool_calls:
                assert call.type == "function"
                result = self.tools[call.function.name](**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
        return "too many turns"


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


def missed(agent: Agent, record: Bundle, question: str = QUESTION) -> ReplayMiss:
    with pytest.raises(ReplayMiss) as found, replay(record) as r:
        agent.run(question)
    assert agent.ran == []
    assert r.report.verdict == "parts"
    assert str(found.value) == r.report.missed
    return found.value


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
    from retrospan.schemas.bundle.form import CallError

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
    from retrospan.schemas.bundle.form import CallError

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
    import asyncio

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


def test_what_cannot_be_answered_says_why() -> None:
    unknown = bundle(
        model_call(1, [text("user", QUESTION)], None, replayable=False, reason="contents were not captured")
    )
    assert "contents were not captured" in str(missed(Agent(), unknown))


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
    hidden = "key [redacted:api-key]"
    from retrospan.schemas.redaction.matching import marker

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


def test_a_record_without_calls_answers_nothing() -> None:
    assert "holds no model call" in str(missed(Agent(), bundle()))


def test_answering_a_call_takes_less_than_two_milliseconds() -> None:
    """Beyond what the client itself takes, which is measured against a transport that answers at once."""
    long = [text("user", "word " * 400), *[tells("call_0", {"rows": ["x" * 50] * 20})] * 10]
    record = bundle(*(model_call(n, long, text("assistant", "yes")) for n in range(1, 201)))
    body = {
        "model": "gpt-4o-mini",
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": "word " * 400},
            *[{"role": "tool", "tool_call_id": "call_0", "content": json.dumps({"rows": ["x" * 50] * 20})}]
            * 10,
        ],
    }
    reply = httpx.Response(200, json={"choices": [{"message": {"content": "yes"}}]})
    url = "http://model.invalid/v1/chat/completions"

    def taken(client: httpx.Client) -> float:
        began = time.process_time()
        for _ in range(200):
            client.post(url, json=body).json()
        return (time.process_time() - began) / 200

    with httpx.Client(transport=httpx.MockTransport(lambda request: reply)) as client:
        alone = min(taken(client) for _ in range(2))
    replayed = []
    for _ in range(3):
        with httpx.Client() as client, replay(record):
            replayed.append(taken(client))
    assert min(replayed) - alone < 0.002, f"{(min(replayed) - alone) * 1000:.2f} ms a call"


def test_nothing_is_reached_and_the_caller_is_named() -> None:
    with replay(weather_bundle()) as r:
        with pytest.raises(ReplayRefused, match=r"example\.com"):
            socket.getaddrinfo("example.com", 443)
        with pytest.raises(ReplayRefused, match=r"127\.0\.0\.1:9"):
            socket.create_connection(("127.0.0.1", 9))
    assert all("test_nothing_is_reached" in refused.caller for refused in r.report.refused)
    assert len(r.report.refused) == 2
