"""The pytest plugin in a project of its own, installed from the wheel: green, red with a reason, updated, in parallel."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from golden.agents import golden, suite, write_agent
from golden.test_plugin import TESTS
from golden.test_update import MILD, model
from replay.conftest import Provider

from retrospan.schemas.bundle.golden import read_golden, write_golden

pytestmark = pytest.mark.long
TOP = Path(__file__).resolve().parents[2]
MANY = TESTS.replace(
    '@pytest.mark.golden("weather")',
    '@pytest.mark.parametrize("n", range(8))\n@pytest.mark.golden("weather")',
).replace("def test_the_weather(replayed)", "def test_the_weather(replayed, n)")


def run(*words: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*map(str, words)], cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1"} if folder else None,
    )  # fmt: skip


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and pytest, and nothing of this checkout."""
    place = tmp_path_factory.mktemp("installed")
    uv = shutil.which("uv") or str(TOP / ".uv/bin/uv")
    if not Path(uv).exists():
        pytest.skip("uv, which builds the wheel, is not here")
    for words in (
        [uv, "build", "--quiet", "--wheel", "--out-dir", place / "dist", TOP],
        [uv, "venv", "--quiet", "--python", sys.executable, place / "env"],
    ):
        done = run(*words)
        assert done.returncode == 0, done.stderr
    (wheel,) = (place / "dist").glob("*.whl")
    found = place / "env/bin/python"
    done = run(uv, "pip", "install", "--quiet", "--python", found, wheel, "pytest", "pytest-xdist")
    assert done.returncode == 0, done.stderr
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_agent(tmp_path)
    (tmp_path / "test_agent.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\naddopts = --strict-markers\n")
    write_golden(tmp_path / "golden", golden("tools = get_weather", "answer ~ oslo"), suite("run-1"))
    return tmp_path


@pytest.fixture
def live() -> Iterator[Provider]:
    found = Provider(model)
    yield found
    found.close()


def ask_another_model(project: Path, live: Provider) -> None:
    """Let the agent ask a model that really answers, and that asks for another argument."""
    agent = (project / "agent.py").read_text().replace("http://model.invalid/v1", live.url)
    (project / "agent.py").write_text(agent.replace("get_weather(city)", "get_weather(city, unit='F')"))


def test_green_and_nothing_is_touched(python: Path, project: Path) -> None:
    done = run(python, "-m", "pytest", folder=project)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout
    assert not (project / "ran").exists(), "the tool does not run"


def test_red_with_a_reason_that_can_be_read(python: Path, project: Path) -> None:
    write_agent(project, "You are Orla.", "You are Nora.")
    done = run(python, "-m", "pytest", "--junit-xml", "junit.xml", folder=project)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout
    reason = 'system[0].content: recorded "You are Orla.", asked "You are Nora."'
    assert reason in done.stdout
    (failure,) = ElementTree.parse(project / "junit.xml").getroot().iter("failure")
    assert reason in (failure.text or "")


def test_in_parallel(python: Path, project: Path) -> None:
    (project / "test_agent.py").write_text(MANY)
    done = run(python, "-m", "pytest", "-n", "2", folder=project)
    assert done.returncode == 0 and "9 passed" in done.stdout, done.stdout
    write_agent(project, "You are Orla.", "You are Nora.")
    done = run(python, "-m", "pytest", "-n", "2", folder=project)
    assert done.returncode == 1 and "8 failed, 1 passed" in done.stdout, done.stdout


def test_updated_where_it_is_asked_to(python: Path, project: Path, live: Provider) -> None:
    write_golden(project / "golden", golden("tools = get_weather"), suite("run-1"))
    (project / "test_agent.py").write_text(TESTS.replace('assert "-3" in answer', "assert answer"))
    write_agent(project, "You are Orla.", "You are Nora.")
    ask_another_model(project, live)
    done = run(python, "-m", "pytest", folder=project)
    assert done.returncode == 1 and live.asked == [], done.stdout
    done = run(python, "-m", "pytest", "--golden-update", folder=project)
    assert done.returncode == 0 and "weather: is another one now" in done.stdout, done.stdout
    assert live.asked and "You are Nora." in done.stdout
    told, made = read_golden(project / "golden", "weather")
    found = made.run(told.run_id)
    assert found is not None and (told.run_id, found.answer) != ("run-1", None) and MILD in str(found.answer)
    done = run(python, "-m", "pytest", folder=project)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout


def test_several_updates_in_parallel_leave_one_whole_golden_run(
    python: Path, project: Path, live: Provider
) -> None:
    write_golden(project / "golden", golden("tools = get_weather"), suite("run-1"))
    (project / "test_agent.py").write_text(MANY.replace('assert "-3" in answer', "assert answer"))
    write_agent(project, "You are Orla.", "You are Nora.")
    ask_another_model(project, live)
    done = run(python, "-m", "pytest", "-n", "2", "--golden-update", folder=project)
    assert done.returncode == 0, done.stdout
    told, made = read_golden(project / "golden", "weather")
    assert made.run(told.run_id) is not None
    done = run(python, "-m", "pytest", folder=project)
    assert done.returncode == 0, done.stdout
