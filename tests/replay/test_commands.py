"""`retrospan replay` and `retrospan fork`, over a bundle, as they are typed."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from replay.conftest import Provider
from replay.recorded import ANSWER, weather_bundle
from replay.test_command import AGENT, TOOLS

from retrospan.schemas.bundle.container import write_bundle
from retrospan.schemas.bundle.form import Bundle


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "tools.py").write_text(TOOLS)
    write_bundle(tmp_path / "run.bundle", weather_bundle())
    return tmp_path


def retrospan(folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1", **environ},
    )


AS_IT_IS = ("--tool", "tools:get_weather", "--", sys.executable, "agent.py")


def test_a_bundle_is_replayed(agent: Path) -> None:
    done = retrospan(agent, "replay", "run.bundle", "--report", "report.json", *AS_IT_IS)
    assert (done.returncode, done.stdout.strip()) == (0, ANSWER)
    assert done.stderr.startswith("identical: 2 of 2 model calls and 1 of 1 tool calls")
    report = json.loads((agent / "report.json").read_text())
    assert (report["verdict"], report["exit_code"], report["runs"]) == ("identical", 0, ["run-1"])
    assert not (agent / "ran").exists()


def test_an_agent_that_changed_exits_with_one_and_says_where(agent: Path) -> None:
    (agent / "agent.py").write_text(AGENT.replace("You are Orla.", "You are curt."))
    done = retrospan(agent, "replay", "run.bundle", "--json", *AS_IT_IS)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert (report["verdict"], report["step"], report["field"]) == ("parts", 1, "system[0].content")


def test_a_fork_goes_its_own_way_and_says_how_to_compare(agent: Path, provider: Provider) -> None:
    (agent / "prompt.txt").write_text("Be curt.")
    url = f"{provider.url}/chat/completions"
    words = ("fork", "run.bundle", "--step", "3", "--prompt", "prompt.txt", "--set", "request.temperature=0")
    done = retrospan(agent, *words, *AS_IT_IS, MODEL_URL=url)
    assert (done.returncode, done.stdout.strip()) == (0, "said live")
    assert "retrospan diff run-1 last" in done.stderr
    (sent,) = provider.asked
    assert (sent["messages"][0]["content"], sent["temperature"]) == ("Be curt.", 0)
    done = retrospan(
        agent, "fork", "run.bundle", "--step", "3", "--set", "answer=No.", *AS_IT_IS, MODEL_URL=url
    )
    assert (done.returncode, done.stdout.strip(), len(provider.asked)) == (0, "No.", 1)


def test_a_model_whose_host_is_named_is_asked_from_the_step_on_only(agent: Path, provider: Provider) -> None:
    (agent / "prompt.txt").write_text("Be curt.")
    words = ("fork", "run.bundle", "--step", "3", "--prompt", "prompt.txt", "--host", provider.host)
    url = f"{provider.url}/chat/completions"
    done = retrospan(agent, *words, *AS_IT_IS, MODEL_URL=url)
    assert (done.returncode, done.stdout.strip()) == (0, "said live")
    assert "1 of 1 model calls and 1 of 1 tool calls were answered" in done.stderr
    (sent,) = provider.asked
    assert sent["messages"][0]["content"] == "Be curt."
    # Before that step the record has to hold what is asked.
    (agent / "agent.py").write_text(AGENT.replace("You are Orla.", "You are curt."))
    done = retrospan(agent, *words, *AS_IT_IS, MODEL_URL=url)
    assert (done.returncode, len(provider.asked)) == (1, 1) and "system[0].content" in done.stderr


def altered(file: Path, whole: bytes, name: str, old: bytes, new: bytes) -> None:
    """Write a bundle in which one member says something else; the digests are those of before."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive, zipfile.ZipFile(file, "w") as made:
        for each in archive.namelist():
            data = archive.read(each)
            assert each != name or old in data
            made.writestr(each, data.replace(old, new) if each == name else data)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("replay", "run.bundle"), "say how the agent is started"),
        (("replay", "run.bundle", "--shadow", "--until", "2", "--", "true"), "leave out --until"),
        (("replay", "gone.bundle", "--", "true"), "gone.bundle"),
        (("replay", "agent.py", "--", "true"), "agent.py"),
        (("fork", "run.bundle", "--step", "0", "--", "true"), "--step"),
        (
            ("fork", "run.bundle", "--step", "2", "--set", "state.city=1", "--", "true"),
            "has no states on record",
        ),
        (("fork", "run.bundle", "--step", "2", "--set", "request.", "--", "true"), "request.FIELD"),
        (("fork", "run.bundle", "--step", "2", "--prompt", "none.txt", "--", "true"), "none.txt"),
        (("replay", "run.bundle", "--", "true"), "no Python in it began the replay"),
        (("replay", "empty.bundle", "--", "true"), "empty.bundle holds no run"),
        (("replay", "cut.bundle", "--", "true"), "cut.bundle is cut or damaged"),
        (("replay", "spoilt.bundle", *AS_IT_IS), "spoilt.bundle is cut or damaged: "),
        (("replay", "newer.bundle", *AS_IT_IS), "newer.bundle is of version 2"),
        (("fork", "newer.bundle", "--step", "2", *AS_IT_IS), "newer.bundle is of version 2"),
        (
            ("replay", "edited.bundle", *AS_IT_IS),
            "edited.bundle: runs/run-1/calls.jsonl is not what was written",
        ),
        (("fork", "edited.bundle", "--step", "2", *AS_IT_IS), "calls.jsonl is not what was written"),
        (("replay", "4bf92f35", *AS_IT_IS), "127.0.0.1:9"),
        (("fork", "4bf92f35", "--step", "2", *AS_IT_IS), "127.0.0.1:9"),
        (("bundle", "4bf92f35"), "127.0.0.1:9"),
        (("golden", "add", "4bf92f35", "x"), "127.0.0.1:9"),
    ],
)
def test_wrong_use_is_told(agent: Path, words: tuple[str, ...], said: str) -> None:
    whole = (agent / "run.bundle").read_bytes()
    (agent / "cut.bundle").write_bytes(whole[:500])
    # What is asked of it before the agent starts, its head, is as it was.
    body = whole.index(b"bodies/") + 80
    (agent / "spoilt.bundle").write_bytes(whole[:body] + b"~" + whole[body + 1 :])
    altered(agent / "newer.bundle", whole, "bundle.json", b'"version": 1', b'"version": 2')
    altered(agent / "edited.bundle", whole, "runs/run-1/calls.jsonl", b"get_weather", b"let_weather")
    write_bundle(agent / "empty.bundle", Bundle(made_by="a test", rules=None, runs=()))
    done = retrospan(agent, *words, RETROSPAN_URL="http://127.0.0.1:9")
    assert done.returncode == 2, done.stderr
    assert said in done.stderr and done.stderr.count("error: ") == 1
    assert not (agent / "ran").exists()
