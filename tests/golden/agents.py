"""A golden run of the weather agent, and the agent that does it again: with a client of HTTP and a plain function."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from replay.recorded import ANSWER, QUESTION, weather_bundle

from retrospan.schemas.bundle.form import Bundle, RunRecord
from retrospan.schemas.bundle.golden import Golden

AGENT = """
import json
import sys
import urllib.request

URL = "http://model.invalid/v1/chat/completions"
SYSTEM = "You are Orla."


def get_weather(city):
    open("ran", "w").close()
    return {"temp_c": 20}


def run(question):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    while True:
        body = json.dumps({"model": "gpt-4o-mini", "messages": messages}).encode()
        with urllib.request.urlopen(urllib.request.Request(URL, body, {"Content-Type": "application/json"})) as reply:
            said = json.load(reply)["choices"][0]["message"]
        messages.append(said)
        if not said.get("tool_calls"):
            return said["content"]
        for call in said["tool_calls"]:
            result = get_weather(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
"""
MAIN = """
import sys
import agent

print(agent.run(sys.argv[1]))
"""
TOOL = "agent:get_weather"


def write_agent(folder: Path, old: str = "", new: str = "") -> None:
    """The agent, with something in it changed."""
    assert old in AGENT
    (folder / "agent.py").write_text(AGENT.replace(old, new) if old else AGENT)
    (folder / "main.py").write_text(MAIN)


def weather_run(run_id: str = "run-1") -> RunRecord:
    (run,) = weather_bundle().runs
    return replace(run, run_id=run_id, question=QUESTION, answer=ANSWER, outcome="ok")


def suite(*run_ids: str) -> Bundle:
    return Bundle(made_by="a test", rules=None, runs=tuple(map(weather_run, run_ids)))


def golden(*expect: str) -> Golden:
    return Golden(name="weather", run_id="run-1", description="A “test”", expect=expect, tools=(TOOL,))
