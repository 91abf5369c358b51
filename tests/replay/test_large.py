"""Replays of what is long and what is big, and of many threads at a time."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
import pytest
from replay.recorded import SYSTEM, asks, bundle, model_call, tells, text, tool_call

from retrospan.exporter.replay import replay, tool
from retrospan.schemas.bundle.container import read_bundle, write_bundle
from retrospan.schemas.bundle.form import ModelCall, ToolCall

URL = "https://model.invalid/v1/chat/completions"


def ask(client: httpx.Client, messages: list[dict[str, Any]]) -> dict[str, Any]:
    body = {"model": "gpt-4o-mini", "messages": [{"role": "system", "content": SYSTEM}, *messages]}
    found = client.post(URL, json=body)
    assert found.status_code == 200, found.text
    said: dict[str, Any] = found.json()["choices"][0]["message"]
    return said


@pytest.mark.long
def test_a_run_of_two_thousand_calls(tmp_path: Path) -> None:
    """A thousand of the model, whose history grows, and a thousand of a tool."""
    history, calls = [text("user", "Count to a thousand.")], list[ModelCall | ToolCall]()
    for turn in range(1000):
        question = asks(f"c{turn}", "count", at=turn)
        calls += [
            model_call(2 * turn + 1, [*history], question, finish_reasons=("tool_calls",)),
            tool_call(2 * turn + 2, "count", {"at": turn}, {"next": turn + 1}, f"c{turn}"),
        ]
        history += [question, tells(f"c{turn}", {"next": turn + 1})]
    file = tmp_path / "run.bundle"
    write_bundle(file, bundle(*calls))
    assert file.stat().st_size < 4 << 20, "a history is written once"

    @tool
    def count(at: int) -> dict[str, int]:
        raise AssertionError(f"it runs: {at}")

    messages: list[dict[str, Any]] = [{"role": "user", "content": "Count to a thousand."}]
    with replay(file) as session, httpx.Client() as client:
        for _ in range(1000):
            said = ask(client, messages)
            (call,) = said["tool_calls"]
            result = count(**json.loads(call["function"]["arguments"]))
            messages += [said, {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)}]
    report = session.report
    assert (report.verdict, len(report.answered), len(report.results)) == ("identical", 1000, 1000)


@pytest.mark.long
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_of_twenty_megabytes(tmp_path: Path, stream: bool) -> None:
    chance = random.Random(7)
    long = "".join(chance.choices("abcdefghij klmnop\n", k=20 << 20)).strip()
    file = tmp_path / "run.bundle"
    write_bundle(file, bundle(model_call(1, [text("user", "All of it.")], text("assistant", long))))
    assert read_bundle(file).runs[0].model_calls()[0].answer == (text("assistant", long),)
    with replay(file) as session, httpx.Client() as client:
        if not stream:
            assert ask(client, [{"role": "user", "content": "All of it."}])["content"] == long
        else:
            messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "All of it."}]
            body = {"model": "gpt-4o-mini", "messages": messages, "stream": True}
            lines = client.post(URL, json=body).text.split("\n")
            found = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
            assert "".join(each["choices"][0]["delta"].get("content") or "" for each in found) == long
    assert session.report.verdict == "identical"


def test_one_kind_of_byte_twenty_megabytes_long_is_no_bomb(tmp_path: Path) -> None:
    file = tmp_path / "run.bundle"
    write_bundle(file, bundle(model_call(1, [text("user", "x")], text("assistant", "a" * (20 << 20)))))
    assert file.stat().st_size < 1 << 20
    assert len(str(read_bundle(file).runs[0].model_calls()[0].answer)) > 20 << 20


def test_many_threads_ask_in_another_order_and_each_gets_its_own_answer() -> None:
    """Calls with questions of their own get their answers; of equal ones each answer is given out once."""
    number, equal = 200, 40
    calls = [
        model_call(n, [text("user", f"Question {n}")], text("assistant", f"Answer {n}"))
        for n in range(1, number + 1)
    ]
    calls += [
        model_call(number + n, [text("user", "The same")], text("assistant", f"Same {n}"))
        for n in range(1, equal + 1)
    ]
    questions = [f"Question {n}" for n in range(1, number + 1)] + ["The same"] * equal
    random.Random(3).shuffle(questions)
    ready = Barrier(16)

    def some(mine: list[str], client: httpx.Client) -> list[tuple[str, str]]:
        ready.wait()
        return [(each, ask(client, [{"role": "user", "content": each}])["content"]) for each in mine]

    with replay(bundle(*calls)) as session, httpx.Client() as client, ThreadPoolExecutor(16) as pool:
        shares = [questions[start::16] for start in range(16)]
        answers = [pair for share in pool.map(some, shares, [client] * 16) for pair in share]
    own = {question: answer for question, answer in answers if question != "The same"}
    assert own == {f"Question {n}": f"Answer {n}" for n in range(1, number + 1)}
    same = [answer for question, answer in answers if question == "The same"]
    assert sorted(same) == sorted(f"Same {n}" for n in range(1, equal + 1))
    assert session.report.verdict == "identical" and len(session.report.answered) == number + equal
