"""A command replayed without a change: its interpreter begins the replay, and tells what came of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import pytest
from replay.conftest import Provider
from replay.recorded import ANSWER, weather_bundle

from retrospan.exporter.replay.commanding import Ran, run_command
from retrospan.exporter.replay.conditions import Edits
from retrospan.exporter.replay.descent import Descent
from retrospan.schemas.bundle.form import Bundle
from retrospan.schemas.errors import PermanentError

AGENT = """
import json
import urllib.request
from tools import TOOLS, URL

messages = [{"role": "system", "content": "You are Orla."}, {"role": "user", "content": "What is the weather in Oslo?"}]
while True:
    body = json.dumps({"model": "gpt-4o-mini", "messages": messages}).encode()
    with urllib.request.urlopen(urllib.request.Request(URL, body, {"Content-Type": "application/json"})) as reply:
        said = json.load(reply)["choices"][0]["message"]
    messages.append(said)
    if not said.get("tool_calls"):
        break
    for call in said["tool_calls"]:
        result = TOOLS[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
print(said["content"])
"""
TOOLS = """
import os

URL = os.environ.get("MODEL_URL", "http://model.invalid/v1/chat/completions")

def get_weather(city):
    open("ran", "w").close()
    return {"temp_c": 20}

TOOLS = {"get_weather": get_weather}
"""


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "tools.py").write_text(TOOLS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(
    command: Sequence[str],
    bundle: Bundle | None = None,
    descent: Descent | None = None,
    **how: object,
) -> tuple[Ran, str]:
    with open("output", "w+b") as output:
        told = {"tools": ["tools:get_weather"], **how}
        found = run_command(command, bundle or weather_bundle(), told, descent, output=output)
        output.seek(0)
        return found, output.read().decode()


def test_a_command_is_replayed_as_it_is(agent: Path) -> None:
    found, said = ran([sys.executable, "agent.py"])
    assert (found.exit_code, said.strip(), found.is_identical) == (0, ANSWER, True)
    assert not (agent / "ran").exists()
    assert found.lines[0].startswith("identical: 2 of 2 model calls and 1 of 1 tool calls")


def test_a_command_that_leaves_the_record_is_stopped_and_told(agent: Path) -> None:
    (agent / "agent.py").write_text(AGENT.replace("You are Orla.", "You are curt."))
    found, said = ran([sys.executable, "agent.py"])
    assert found.exit_code != 0
    assert (found.report["verdict"], found.report["step"], found.report["field"]) == (
        "parts",
        1,
        "system[0].content",
    )
    assert "422" in said
    assert not (agent / "ran").exists()


def test_a_launcher_that_becomes_a_python_is_followed(agent: Path) -> None:
    (agent / "launch.py").write_text(
        "import os, sys\nos.execv(sys.executable, [sys.executable, 'agent.py'])\n"
    )
    found, said = ran([sys.executable, "launch.py"])
    assert (said.strip(), found.is_identical) == (ANSWER, True)
    found, said = ran(["/bin/sh", "-c", f"exec {sys.executable} agent.py"])
    assert (said.strip(), found.is_identical) == (ANSWER, True)


def test_a_command_without_a_python_is_told(agent: Path) -> None:
    with pytest.raises(PermanentError, match="no Python in it began the replay"):
        ran(["/bin/true"])
    with pytest.raises(PermanentError, match="cannot be started"):
        ran(["./not-there"])


def test_an_agent_is_not_let_loose_where_the_replay_cannot_begin(agent: Path) -> None:
    for tools, why in (("tools:get_weather", "wants until="), ("no-colon", "names no function")):
        mode = "edit" if tools != "no-colon" else "strict"
        with pytest.raises(PermanentError, match=why):
            ran([sys.executable, "agent.py"], mode=mode, tools=[tools])
        assert (agent / "output").read_text() == ""
    assert not (agent / "ran").exists()


def test_a_tool_that_is_named_wrongly_stops_the_agent(agent: Path) -> None:
    _, said = ran([sys.executable, "agent.py"], tools=["tools:send_email"])
    assert "has no function send_email" in said
    assert not (agent / "ran").exists()


def test_the_sitecustomize_of_the_agent_runs_too(agent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (agent / "site").mkdir()
    (agent / "site" / "sitecustomize.py").write_text("print('mine')\n")
    monkeypatch.setenv("PYTHONPATH", str(agent / "site"))
    found, said = ran([sys.executable, "agent.py"])
    assert said.splitlines() == ["mine", ANSWER]
    assert found.is_identical


def test_a_fork_says_from_where(agent: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    (agent / "agent.py").write_text(
        dedent(
            """
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
            tracer = TracerProvider()
            tracer.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
            with tracer.get_tracer("t").start_as_current_span("root"):
                with tracer.get_tracer("t").start_as_current_span("inner"):
                    exec(open("inner.py").read())
            """
        )
    )
    (agent / "inner.py").write_text(AGENT)
    monkeypatch.setenv("MODEL_URL", f"{provider.url}/chat/completions")
    edits = Edits(prompt="Be curt.")
    found, said = ran(
        [sys.executable, "agent.py"],
        None,
        Descent("forks", "run-1", 3, edits.patch()),
        mode="edit",
        until=3,
        edits=edits,
    )
    assert found.report["verdict"] == "live"
    assert "said live" in said
    assert said.count('"retrospan.link.type": "forks"') == 1
    assert '"retrospan.run.id": "run-1"' in said
    assert '"retrospan.fork.step": 3' in said
    assert "Be curt." in said


def test_what_is_loaded_for_a_replay_is_light() -> None:
    code = "import sys; before = set(sys.modules); import retrospan.exporter.replay.starting; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {
        "httpx",
        "requests",
        "urllib3",
        "openai",
        "opentelemetry",
        "aiohttp",
        "langchain_core",
    }


def test_importing_the_exporter_loads_nothing_of_replay() -> None:
    code = "import sys, retrospan.exporter; print(*[name for name in sys.modules if 'replay' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_variable_does_not_reach_what_the_agent_starts(agent: Path) -> None:
    (agent / "agent.py").write_text("import os, subprocess\nsubprocess.run(['env'], check=True)\n")
    _, said = ran([sys.executable, "agent.py"], processes=["env"])
    assert "RETROSPAN_REPLAY" not in said
    assert os.environ.get("PYTHONPATH", "") in said
