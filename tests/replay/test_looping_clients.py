"""A client that runs tools itself and asks again: a record of its last answer alone is not called identical."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from replay.recorded import ANSWER, QUESTION, asks, bundle, model_call, tells, text, tool_call

from retrospan.exporter.replay import replay
from retrospan.exporter.replay.new_record import NewRecord
from retrospan.exporter.replay.wire.answered import Answered
from retrospan.exporter.replay.wire.form import Asked
from retrospan.schemas.bundle.container import read_bundle, write_bundle
from retrospan.schemas.bundle.form import Bundle, CallError, ModelCall

#: What asks within Google's client, with the names that its functions have.
CLIENT = """
import httpx

def ask(contents):
    body = {"contents": contents, "systemInstruction": {"parts": [{"text": "You are Orla."}]}}
    url = "https://generativelanguage.googleapis.com/v1beta/models/gpt-4o-mini:generateContent"
    return httpx.post(url, json=body).raise_for_status().json()["candidates"][0]["content"]

def generate_content(contents, function_map):
    remaining_remote_calls_afc = 10
    while remaining_remote_calls_afc > 0:
        remaining_remote_calls_afc -= 1
        said = ask(contents)
        calls = [part["functionCall"] for part in said["parts"] if "functionCall" in part]
        if not (calls and function_map):
            return said["parts"][0]["text"]
        told = [{"name": c["name"], "id": c["id"], "response": function_map[c["name"]](**c["args"])} for c in calls]
        contents = [*contents, said, {"role": "user", "parts": [{"functionResponse": each} for each in told]}]

def first(contents, parsed_config):
    remaining_remote_calls_afc = 10
    return ask(contents)["parts"][0]["text"]
"""
ASKED = [{"role": "user", "parts": [{"text": QUESTION}]}]
MODULE = "google.genai.models"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    (tmp_path / "models.py").write_text(CLIENT)
    spec = spec_from_file_location(MODULE, tmp_path / "models.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, MODULE, module)
    return cast("Callable[..., str]", module.generate_content)


def test_a_client_that_looks_for_its_tools_later_is_known_by_those_that_it_was_given(
    client: Callable[..., str],
) -> None:
    first = cast("Callable[..., str]", sys.modules[MODULE].first)
    for tools, verdict in (([weather], "identical_outside_tools"), ([{}], "identical"), (None, "identical")):
        with replay(bundle(last_answer())) as r:
            first(ASKED, SimpleNamespace(tools=tools))
        assert r.report.verdict == verdict


def weather(city: str) -> dict[str, object]:
    return {"temp_c": -3}


def last_answer(**more: Any) -> ModelCall:
    return model_call(1, [text("user", QUESTION)], text("assistant", ANSWER), **more)


def test_a_record_of_one_answer_may_leave_out_calls(client: Callable[..., str]) -> None:
    with replay(bundle(last_answer())) as r:
        assert client(ASKED, {"get_weather": weather}) == ANSWER
    assert r.report.verdict == "identical_outside_tools"
    said = r.report.lines()
    assert said[0].startswith("identical, but for calls of tools that the record may leave out: 1 of 1 model")
    assert "whether a tool was called before the answer of call 1. google.genai runs tools itself" in said[1]
    assert r.report.as_json()["calls_that_may_be_the_last_of_several"] == [1]


def test_without_tools_to_run_nothing_is_left_out(client: Callable[..., str]) -> None:
    with replay(bundle(last_answer())) as r:
        client(ASKED, {})
    assert r.report.verdict == "identical"


def test_a_response_that_would_tell_of_more_requests_tells_of_none(
    client: Callable[..., str], tmp_path: Path
) -> None:
    file = tmp_path / "run.bundle"
    write_bundle(file, bundle(last_answer(tells_rounds=True)))
    assert [call.tells_rounds for call in read_bundle(file).runs[0].model_calls()] == [True]
    with replay(file) as r:
        client(ASKED, {"get_weather": weather})
    assert r.report.verdict == "identical"
    assert r.report.as_json()["calls_that_may_be_the_last_of_several"] == []


def test_a_record_that_tells_each_request_leaves_out_none(client: Callable[..., str]) -> None:
    question, asked = text("user", QUESTION), asks("c1", "get_weather", city="Oslo")
    whole = bundle(
        model_call(1, [question], asked),
        tool_call(2, "get_weather", {"city": "Oslo"}, {"temp_c": -3}, "c1"),
        model_call(3, [question, asked, tells("c1", {"temp_c": -3})], text("assistant", ANSWER)),
    )
    with replay(whole, live_tools=["get_weather"]) as r:
        assert client(ASKED, {"get_weather": weather}) == ANSWER
    assert r.report.verdict == "identical"


def test_a_request_that_failed_was_answered_with_nothing(client: Callable[..., str]) -> None:
    failed = replace(last_answer(), answer=None, error=CallError(type="X", message="no", status_code=400))
    with replay(bundle(failed)) as r, pytest.raises(Exception, match="400"):
        client(ASKED, {"get_weather": weather})
    assert r.report.verdict == "identical"


def test_a_record_that_was_made_request_by_request_leaves_out_none(client: Callable[..., str]) -> None:
    """As `golden update` makes one: what was really answered, and what an older record of that kind answered."""
    request = Asked(
        form="gemini",
        model="gpt-4o-mini",
        streamed=False,
        system=[{"type": "text", "content": "You are Orla."}],
        messages=[text("user", QUESTION)],
        tools=None,
        parameters={},
    )
    answered = Answered(messages=(text("assistant", ANSWER),), id=None, model=None, reasons=(), usage={})
    outcome: ModelCall | Answered = answered
    for _ in range(2):
        record = NewRecord()
        record.model("k", request, outcome)
        made = record.run(bundle(last_answer()).runs[0])
        with replay(Bundle(made_by="a test", rules=None, runs=(made,))) as r:
            client(ASKED, {"get_weather": weather})
        assert r.report.verdict == "identical"
        (outcome,) = made.model_calls()
