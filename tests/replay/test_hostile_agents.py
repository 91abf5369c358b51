"""Agents that do what they like while they are replayed: nothing gets out, and what is said of them stays true."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from golden.agents import AGENT, suite

from retrospan.schemas.bundle.container import write_bundle

HEAD = AGENT + "\nQUESTION = 'What is the weather in Oslo?'\n"
PYTHON = Path(sys.executable).name


def replayed(place: Path, program: str, *flags: str) -> tuple[int, str]:
    """Replay a program by the command, as a user does."""
    (place / "my_agent.py").write_text(HEAD + program)
    write_bundle(place / "run.bundle", suite("run-1"))
    words = (
        "replay",
        "run.bundle",
        "--tool",
        "my_agent:get_weather",
        *flags,
        "--",
        sys.executable,
        "my_agent.py",
    )
    done = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", *words],
        cwd=place, capture_output=True, text=True, check=False, timeout=120,
        env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1"},
    )  # fmt: skip
    assert not (place / "ran").exists(), "the tool"
    assert not (place / "out").exists(), "a program that was started"
    return done.returncode, done.stdout + done.stderr


IDENTICAL = "identical: 2 of 2 model calls and 1 of 1 tool calls were answered from the record"


def test_handlers_of_signals_are_the_agents_own(tmp_path: Path) -> None:
    code, said = replayed(
        tmp_path,
        """
import os, signal
def leave(*_):
    print("left by its handler")
    sys.exit(3)
for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(each, leave)
print(run(QUESTION))
os.kill(os.getpid(), signal.SIGTERM)
""",
    )
    assert code == 0 and "left by its handler" in said and IDENTICAL in said
    assert "the command ended with exit code 3" in said


STARTS = (
    "subprocess.run(['touch', 'out'])",
    "subprocess.run('touch out', shell=True)",
    "os.system('touch out')",
    "os.popen('touch out').read()",
    "os.posix_spawn('/usr/bin/touch', ['touch', 'out'], {})",
    "os.spawnv(os.P_WAIT, '/usr/bin/touch', ['touch', 'out'])",
    "os.execv('/usr/bin/touch', ['touch', 'out'])",
    "pty.spawn(['touch', 'out'])",
    "asyncio.run(start())",
    "os.fork() or os._exit(os.system('touch out'))",
    "multiprocessing.get_context('fork').Process(target=touch).start()",
    "multiprocessing.get_context('spawn').Process(target=touch).start()",
    "multiprocessing.get_context('forkserver').Process(target=touch).start()",
    "concurrent.futures.ProcessPoolExecutor(1).submit(touch).result()",
)


@pytest.mark.parametrize("start", STARTS)
def test_an_agent_starts_nothing(tmp_path: Path, start: str) -> None:
    code, said = replayed(
        tmp_path,
        f"""
import asyncio, concurrent.futures, multiprocessing, os, pty, subprocess

def touch():
    open("out", "w").close()

async def start():
    await (await asyncio.create_subprocess_exec("touch", "out")).wait()

if __name__ == "__main__":
    try:
        {start}
    except Exception as error:
        print("refused:", type(error).__name__)
    print(run(QUESTION))
""",
    )
    assert code == 0 and "refused: ReplayRefused" in said and IDENTICAL in said, said
    assert "wanted by" in said and "__main__" in said


def test_a_fork_that_may_be_is_in_the_cage_and_not_in_the_report(tmp_path: Path) -> None:
    program = """
import os, socket
read, write = os.pipe()
if os.fork() == 0:
    try:
        socket.create_connection(("127.0.0.1", 9))
    except BaseException as error:
        os.write(write, (type(error).__name__ + " " + run(QUESTION)).encode())
    os._exit(0)
os.wait()
print("the fork said:", os.read(read, 1000).decode())
"""
    code, said = replayed(tmp_path, program, "--process", "fork")
    assert "the fork said: ReplayRefused It is -3 °C in Oslo ☃." in said
    assert code == 1 and "prefix: 0 of 2 model calls" in said, "nothing is claimed of what the fork did"


def test_a_program_that_may_be_started_does_not_begin_a_replay(tmp_path: Path) -> None:
    code, said = replayed(
        tmp_path,
        """
import subprocess
look = "import os, sys; print('in it:', 'RETROSPAN_REPLAY' in os.environ, 'sitecustomize' in str(sys.path))"
print(run(QUESTION), subprocess.run([sys.executable, "-c", look], capture_output=True, text=True).stdout)
""",
        "--process",
        PYTHON,
    )
    assert code == 0 and "in it: False False" in said and IDENTICAL in said


@pytest.mark.parametrize(
    "patch",
    [
        # Around what a replay put there, in its place, and below it.
        (
            "real = httpx.HTTPTransport.handle_request\n"
            "httpx.HTTPTransport.handle_request = lambda self, request: real(self, request)"
        ),
        "real = httpx.Client.send\nhttpx.Client.send = lambda self, *args, **named: real(self, *args, **named)",
    ],
)
def test_an_httpx_that_the_agent_patched_is_answered(tmp_path: Path, patch: str) -> None:
    code, said = replayed(tmp_path, f"import httpx\n{patch}\n{BY_HTTPX}")
    assert code == 0 and IDENTICAL in said, said


@pytest.mark.parametrize(
    "patch",
    [
        "httpx.HTTPTransport.handle_request = httpx.HTTPTransport.handle_request.__wrapped__",
        (
            "for name in [each for each in sys.modules if each.partition('.')[0] in ('httpx', 'httpcore')]:\n"
            "    del sys.modules[name]\nimport httpx"
        ),
    ],
)
def test_an_httpx_that_the_agent_freed_reaches_nobody(tmp_path: Path, patch: str) -> None:
    code, said = replayed(tmp_path, f"import httpx\n{patch}\n{BY_HTTPX}")
    assert (code, IDENTICAL in said) in ((1, False), (0, True)), said
    if code:
        assert "refused: looking up the host model.invalid, wanted by __main__." in said


BY_HTTPX = """
def urlopen(request):
    import contextlib, io
    found = httpx.post(request.full_url, content=request.data, headers={"content-type": "application/json"})
    return contextlib.closing(io.BytesIO(found.content))

urllib.request.urlopen = urlopen
print(run(QUESTION))
"""


def test_a_replay_inside_a_replay_is_refused_in_the_process_and_as_a_command(tmp_path: Path) -> None:
    code, said = replayed(
        tmp_path,
        """
import subprocess
from retrospan.exporter.replay import replay
try:
    with replay("run.bundle"):
        print("inside")
except Exception as error:
    print(error)
try:
    subprocess.run([sys.executable, "-m", "retrospan.ingest.cli.main", "replay", "run.bundle", "--", "true"])
except Exception as error:
    print(error)
print(run(QUESTION))
""",
    )
    assert code == 0 and IDENTICAL in said and "inside" not in said.split("a replay of")[0]
    assert "a replay of run-1 is under way in this process" in said
    assert f"refused: starting the program {PYTHON}" in said


def test_an_agent_that_takes_its_end_away_is_not_called_anything(tmp_path: Path) -> None:
    code, said = replayed(tmp_path, "import atexit\nprint(run(QUESTION))\natexit._clear()\n")
    assert code == 2 and "nothing is known of what it did" in said and "identical" not in said


def test_an_agent_that_leaves_the_record_and_is_killed_then_left_it_all_the_same(tmp_path: Path) -> None:
    program = """
import os, signal
SYSTEM = "You are Nora."
try:
    run(QUESTION)
except Exception:
    os.kill(os.getpid(), signal.SIGKILL)
"""
    code, said = replayed(tmp_path, program)
    assert code == 1 and "parts at step 1" in said and "You are Nora." in said


def test_what_an_agent_was_refused_is_told_of_a_golden_run_that_is_green(tmp_path: Path) -> None:
    from golden.agents import golden

    from retrospan.schemas.bundle.golden import write_golden

    program = "import os\ntry:\n    os.system('true')\nexcept Exception:\n    pass\nprint(run(QUESTION))\n"
    (tmp_path / "my_agent.py").write_text(HEAD + program)
    write_golden(tmp_path / "golden", golden(), suite("run-1"))
    done = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", "golden", "run", "--tool", "my_agent:get_weather",
         "--command", f"{sys.executable} my_agent.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ weather\n  refused: starting the program sh" in done.stdout or (
        "✓ weather\n  refused: starting the program true" in done.stdout
    )
