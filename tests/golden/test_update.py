"""A changed agent becomes the golden run: what is not on record is really asked and taken down; what changed is said."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
from golden.agents import golden, suite, write_agent
from golden.test_plugin import TESTS, run_pytest
from golden.test_update_forms import streamed
from replay.conftest import Provider, said_by_chat
from replay.recorded import ANSWER, QUESTION, asks, bundle, model_call, text, tool_call, weather_bundle

from retrospan.exporter.replay import replay, tool
from retrospan.exporter.replay.redacting import redacted, redactor, rules_of
from retrospan.exporter.replay.wire.event_stream import whole_answer
from retrospan.schemas.bundle.form import Bundle, RunRecord
from retrospan.schemas.bundle.golden import read_golden, write_golden
from retrospan.schemas.errors import ReplayRefused

MILD = "It is mild in Oslo."


def model(body: dict[str, Any]) -> dict[str, Any]:
    """Asks for the weather in two ways, then says it."""
    if any(message["role"] == "tool" for message in body["messages"]):
        return said_by_chat(MILD)
    found = said_by_chat("")
    function = {"name": "get_weather", "arguments": json.dumps({"city": "Oslo", "unit": "C"})}
    call = {"id": "c9", "type": "function", "function": function}
    found["choices"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": [call]}
    return found


@pytest.fixture
def live() -> Iterator[Provider]:
    found = Provider(model)
    yield found
    found.close()


@pytest.fixture
def talker() -> Iterator[Provider]:
    found = Provider(lambda body: said_by_chat("said live"))
    yield found
    found.close()


@pytest.fixture
def project(tmp_path: Path, live: Provider) -> Path:
    """A golden run, and an agent with another prompt and another tool."""
    write_agent(tmp_path, "You are Orla.", "You are Nora.")
    agent = (tmp_path / "agent.py").read_text()
    agent = agent.replace("http://model.invalid/v1", live.url)
    (tmp_path / "agent.py").write_text(agent.replace("get_weather(city)", "get_weather(city, unit='F')"))
    write_golden(tmp_path / "golden", golden("tools = get_weather"), suite("run-1"))
    return tmp_path


def retrospan(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", *words],
        cwd=folder, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1"},
    )  # fmt: skip


MAIN = (sys.executable, "main.py", "{question}")


def test_a_changed_agent_becomes_the_golden_run(project: Path, live: Provider) -> None:
    done = retrospan(project, "golden", "update", "weather", "--", *MAIN)
    assert done.returncode == 0, done.stderr
    assert "golden run weather is another one now:" in done.stdout
    assert (
        '~ the model call of step 1: system[0].content: recorded "You are Orla.", now "You are' in done.stdout
    )
    assert 'get_weather.arguments.unit: recorded (nothing), now "C"' in done.stdout
    assert f"really asked: gpt-4o-mini at {live.host}" in done.stderr
    found, made = read_golden(project / "golden", "weather")
    (run,) = made.runs
    assert run.run_id == found.run_id != "run-1"
    assert (run.parent_run_id, run.parent_link, run.answer, run.question) == (
        "run-1",
        "replays",
        MILD,
        QUESTION,
    )
    (call,) = run.tool_calls()
    assert (call.arguments, call.result, call.asked_by, call.effect) == (
        {"city": "Oslo", "unit": "C"}, {"temp_c": 20}, 1, "read",
    )  # fmt: skip
    assert (project / "ran").exists()
    (project / "ran").unlink()
    asked = len(live.asked)
    again = retrospan(project, "golden", "run")
    assert (again.returncode, len(live.asked), (project / "ran").exists()) == (0, asked, False), again.stderr
    assert "nothing changed" in retrospan(project, "golden", "update", "weather", "--", *MAIN).stdout


def test_a_tool_that_writes_is_not_run_and_nothing_is_updated(project: Path) -> None:
    (run,) = weather_bundle(effect="write").runs
    recorded = Bundle(made_by="a test", rules=None, runs=(replace(run, question=QUESTION),))
    write_golden(project / "golden", golden(), recorded)
    before = (project / "golden" / "weather.bundle").read_bytes()
    done = retrospan(project, "golden", "update", "weather", "--", *MAIN)
    assert done.returncode == 2 and not (project / "ran").exists()
    assert "nothing is updated" in done.stderr
    assert (project / "golden" / "weather.bundle").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("golden", "run", "--", "true"), "-- COMMAND is for golden update"),
        (("golden", "update", "weather", "--host", "x"), "--host is for golden update NAME -- COMMAND"),
        (("golden", "update", "weather", "last", "--", "true"), "give one name, and no run"),
        (("golden", "update", "none", "--", "true"), "there is no golden run 'none'"),
        (("golden", "update", "weather", "--hold", "--", "true"), "--hold is for a run of the collector"),
    ],
)
def test_wrong_use_is_told(project: Path, words: tuple[str, ...], said: str) -> None:
    done = retrospan(project, *words)
    assert done.returncode == 2 and said in done.stderr


KILLED = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
from retrospan.schemas.bundle.container import read_bundle
from retrospan.schemas.bundle.golden import read_golden, write_golden

folder, at = Path(sys.argv[1]), int(sys.argv[2])
moved = os.replace

def move(*names):
    global at
    at -= 1
    if at == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    moved(*names)
    at -= 1
    if at == 0:
        os.kill(os.getpid(), signal.SIGKILL)

golden, bundle = read_golden(folder, "weather")
run = replace(bundle.run(golden.run_id), run_id="run-2", answer="new")
os.replace = move
write_golden(folder, golden.updated("run-2"), replace(bundle, runs=(run,)))
"""


def test_a_kill_at_any_moment_leaves_the_old_golden_run_whole_or_the_new_one(tmp_path: Path) -> None:
    write_golden(tmp_path, golden("tools = get_weather"), suite("run-1"))
    found = list[str]()
    for at in range(1, 8):
        done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(at)], check=False)
        assert done.returncode == (-9 if at < 7 else 0)
        told, held = read_golden(tmp_path, "weather")
        run = held.run(told.run_id)
        assert run is not None and run.calls == suite("run-1").runs[0].calls
        assert told.expect == ("tools = get_weather",)
        found.append(told.run_id)
        write_golden(tmp_path, golden("tools = get_weather"), suite("run-1"))
        assert [each.run_id for each in read_golden(tmp_path, "weather")[1].runs] == ["run-1"]
    assert found == ["run-1"] * 3 + ["run-2"] * 4


def test_a_kill_while_the_agent_runs_leaves_every_byte(project: Path) -> None:
    before = {file.name: file.read_bytes() for file in (project / "golden").iterdir()}
    (project / "main.py").write_text("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n")
    done = retrospan(project, "golden", "update", "weather", "--", *MAIN)
    assert done.returncode == -9
    assert {file.name: file.read_bytes() for file in (project / "golden").iterdir()} == before


SECRET = "sk-proj-" + "a1B2c3D4" * 6


def test_what_is_newly_taken_down_is_redacted_as_the_run_was(project: Path) -> None:
    agent = (project / "agent.py").read_text()
    changed = agent.replace("You are Nora.", f"You are Nora. {SECRET}").replace(
        'return {"temp_c": 20}', f'return {{"temp_c": 20, "key": "{SECRET}"}}'
    )
    (project / "agent.py").write_text(changed)
    done = retrospan(project, "golden", "update", "weather", "--", *MAIN)
    assert done.returncode == 0, done.stderr
    told, made = read_golden(project / "golden", "weather")
    assert told.redaction == "secrets", "the run on record holds none: as the exporter leaves it"
    assert SECRET not in repr(made) and repr(made).count("[redacted:") >= 4
    assert SECRET not in done.stdout + done.stderr
    # The agent says the same, secret and all: it is taken out before it is compared.
    again = retrospan(project, "golden", "run")
    assert again.returncode == 0, again.stdout
    (project / "golden" / "weather.toml").write_text(
        (project / "golden" / "weather.toml")
        .read_text()
        .replace('redaction = "secrets"', 'redaction = "off"')
    )
    assert retrospan(project, "golden", "run").returncode == 1


def test_which_redaction_a_run_looks_like() -> None:
    def looks(said: str) -> str:
        asked = model_call(1, [text("user", said)], text("assistant", "Hi."))
        return rules_of(bundle(asked, tool_call(2, "look", {"q": said}, "x")).runs[0])

    assert looks("Hello.") == "secrets"
    assert looks("My key is [redacted:openai-key].") == "secrets"
    assert looks("I am [redacted:email].") == "all"
    assert looks(f"My key is {SECRET}.") == "off", "it was not redacted: requests are not either"


def test_arguments_of_tools_are_redacted_before_they_are_compared() -> None:
    @tool(effect="write")
    def send(key: str) -> str:
        raise AssertionError("it ran")

    hidden = redacted({"key": SECRET}, redactor("secrets") or str)
    recorded = bundle(tool_call(1, "send", hidden, "sent", effect="write"))
    with replay(recorded, redaction="secrets") as session:
        assert send(SECRET) == "sent"
    assert session.report.verdict == "identical"


def test_requests_is_asked_for_and_taken_down(talker: Provider) -> None:
    recorded = bundle(model_call(1, [text("user", QUESTION)], text("assistant", "Hi.")))
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hello?"}]}

    def asked() -> str:
        said = requests.post(f"{talker.url}/chat/completions", json=body, timeout=9).json()
        return str(said["choices"][0]["message"]["content"])

    with replay(recorded, mode="update") as session:
        assert asked() == "said live"
        made = session.new_run()
    with replay(Bundle(made_by="", rules=None, runs=(made,))) as session:
        assert asked() == "said live"
    assert (session.report.verdict, len(talker.asked)) == ("identical", 1)


def test_what_is_not_expected_is_not_taken(project: Path) -> None:
    write_golden(project / "golden", golden("answer ~ -3"), suite("run-1"))
    done = retrospan(project, "golden", "update", "weather", "--", *MAIN)
    assert done.returncode == 2 and f"answer ~ -3: it answered '{MILD}'" in done.stderr
    assert read_golden(project / "golden", "weather")[0].run_id == "run-1"


@pytest.mark.long
def test_pytest_updates_where_it_is_asked_to(project: Path, live: Provider) -> None:
    tests = TESTS.replace('assert "-3" in answer', f"assert answer in ({ANSWER!r}, {MILD!r})")
    (project / "test_agent.py").write_text(tests)
    (project / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    code, said = run_pytest(project)
    assert code == 1 and live.asked == []
    code, said = run_pytest(project, "--golden-update")
    assert code == 0, said
    assert "weather: is another one now" in said and "You are Nora." in said
    code, said = run_pytest(project)
    assert code == 0 and "2 passed" in said, said


def chat(client: httpx.Client, url: str, **more: Any) -> httpx.Response:
    messages = [{"role": "user", "content": "Hello?"}]
    return client.post(f"{url}/chat/completions", json={"model": "gpt-4o-mini", "messages": messages, **more})


def updating(recorded: Bundle, call: Callable[[httpx.Client], object]) -> RunRecord:
    with httpx.Client() as client, replay(recorded, mode="update") as session:
        call(client)
        return session.new_run()


def test_a_streamed_answer_is_asked_whole_and_streamed_again_as_recorded(talker: Provider) -> None:
    recorded = bundle(model_call(1, [text("user", QUESTION)], text("assistant", "Hi.")))
    streams = list[str]()

    def stream(client: httpx.Client) -> None:
        streams.append(chat(client, talker.url, stream=True).text)

    made = updating(recorded, stream)
    assert "stream" not in talker.asked[0]
    assert made.model_calls()[0].streamed and made.answer == "said live"
    with httpx.Client() as client, replay(Bundle(made_by="", rules=None, runs=(made,))) as session:
        stream(client)
    assert session.report.verdict == "identical"
    assert streams[0].count("data: ") == streams[1].count("data: ") > 2 and "said live" in streams[0]


def test_a_call_that_failed_first_is_one_call(talker: Provider) -> None:
    def twice(client: httpx.Client) -> None:
        assert chat(client, "http://127.0.0.1:1/v1").status_code

    recorded = bundle(model_call(1, [text("user", QUESTION)], text("assistant", "Hi.")))

    def calls(client: httpx.Client) -> None:
        with pytest.raises(httpx.ConnectError):
            twice(client)
        assert chat(client, talker.url).status_code == 200

    (call,) = updating(recorded, calls).calls
    assert call.error is None and call.replayable


def test_an_error_at_the_end_is_recorded_as_one() -> None:
    recorded = bundle(model_call(1, [text("user", QUESTION)], text("assistant", "Hi.")))

    def call(client: httpx.Client) -> None:
        with pytest.raises(httpx.ConnectError):
            chat(client, "http://127.0.0.1:1/v1")

    made = updating(recorded, call)
    assert made.calls[0].error is not None and made.calls[0].error.type == "ConnectionError"
    with httpx.Client() as client, replay(Bundle(made_by="", rules=None, runs=(made,))):
        call(client)


def test_tools_are_answered_from_the_record_run_or_refused() -> None:
    ran = list[str]()

    @tool(effect="read")
    def look(place: str) -> dict[str, str]:
        ran.append(place)
        if place == "nowhere":
            raise LookupError("no such place")
        return {"at": place}

    @tool(effect="write")
    def send(to: str) -> str:
        ran.append(to)
        return "sent"

    recorded = bundle(
        model_call(1, [text("user", QUESTION)], asks("c1", "send", to="a")),
        tool_call(2, "send", {"to": "a"}, "sent then", "c1", effect="write"),
    )
    with replay(recorded, mode="update") as session:
        assert send("a") == "sent then"
        assert look("here") == {"at": "here"}
        with pytest.raises(LookupError):
            look("nowhere")
        with pytest.raises(ReplayRefused, match="the tool send was not run"):
            send("b")
        made = session.new_run()
    assert ran == ["here", "nowhere"]
    assert [(call.name, call.result, call.effect) for call in made.tool_calls()] == [
        ("send", "sent then", "write"),
        ("look", {"at": "here"}, "read"),
        ("look", None, "read"),
    ]
    error = made.tool_calls()[2].error
    assert error is not None and (error.type, error.message) == ("LookupError", "no such place")
    assert all(call.replayable for call in made.calls)


def test_bedrock_is_asked_for_a_stream_as_the_agent_asks_and_recorded_whole() -> None:
    stream, _ = streamed({"type": "text", "content": "said live"})
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    answers = [stream, stream[:-9]]
    live = Provider(lambda _: answers.pop(0))
    recorded = bundle(model_call(1, [text("user", QUESTION)], text("assistant", "Hi.")))
    url = f"{live.url}/model/m/converse-stream"
    given = list[bytes]()
    try:
        made = updating(recorded, lambda client: given.append(client.post(url, json=body).content))
        broken = updating(recorded, lambda client: given.append(client.post(url, json=body).content))
    finally:
        live.close()
    assert live.asked == [body, body]
    (call,) = made.model_calls()
    assert (made.answer, call.streamed, call.usage) == (
        "said live",
        True,
        {"input_tokens": 5, "output_tokens": 2},
    )
    assert whole_answer(given[0]) == whole_answer(stream)
    with httpx.Client() as client, replay(Bundle(made_by="", rules=None, runs=(made,))) as session:
        assert whole_answer(client.post(url, json=body).content) == whole_answer(stream)
    assert session.report.verdict == "identical"
    (call,) = broken.model_calls()
    assert call.error is not None and call.error.message is not None
    assert given[1] == stream[:-9] and "the stream broke off" in call.error.message
