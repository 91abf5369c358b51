"""examples/stuck, from the incident to the green test: each command of its page, and what the page says that it prints."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_collector import Served
from ports import unused_port

pytestmark = [pytest.mark.engine, pytest.mark.long]
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "stuck"
QUESTION = "Can I get a refund?"
_RUN = re.compile(r"\b[0-9a-f]{8}\b")


@pytest.fixture
def place(tmp_path: Path, served: Served) -> Iterator[tuple[Path, dict[str, str]]]:
    """A copy of the example, its model, and the variables that its commands have."""
    folder = tmp_path / "stuck"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    port = unused_port()
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OTEL_", "RETROSPAN_", "PYTEST"))
    }
    environ = {
        **kept,
        "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}",
        "NO_COLOR": "1",
        "COLUMNS": "120",
        "RETROSPAN_URL": f"http://{served.sql}",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{served.http}",
        "MODEL_URL": f"http://127.0.0.1:{port}/v1/chat/completions",
    }
    model = subprocess.Popen([sys.executable, "model.py", str(port)], cwd=folder)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    yield folder, environ
    model.send_signal(signal.SIGKILL)
    model.wait()


def told(text: str) -> list[tuple[str, list[str]]]:
    """The commands of the page, each with the lines that it shows of what comes of it."""
    found = list[tuple[str, list[str]]]()
    for block in re.findall(r"```\n(\$ .*?)```", text, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def test_the_page_is_what_one_gets(place: tuple[Path, dict[str, str]], served: Served) -> None:
    folder, environ = place

    def do(command: str) -> str:
        words = shlex.split(command)
        if words[0] == "pytest":
            words += ["-p", "no:cacheprovider", "-p", "no:langsmith_plugin"]
        done = subprocess.run(
            words, cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False
        )
        served.wait_idle()
        return done.stdout + done.stderr

    assert "TimeoutError: timed out" in do(f"python agent.py '{QUESTION}'")
    (stuck,) = served.rows("SELECT run_id FROM runs")
    page = (folder / "README.md").read_text(encoding="utf-8")
    commands = told(page)
    assert len(commands) == 12
    shown = next(run for run in _RUN.findall(page))
    said_by = dict[str, str]()
    for command, lines in commands:
        said = said_by[command] = do(command.replace(shown, stuck["run_id"]))
        for line in lines:
            for piece in line.replace(shown, stuck["run_id"][:8]).split("[…]"):
                assert piece.strip() in said, (command, piece, said)
    first_page = told((EXAMPLE.parents[1] / "README.md").read_text(encoding="utf-8"))
    walked = [command for command, _ in first_page if command in said_by]
    # Whoever types only what the first page has comes as far: nothing on the way to the golden run is left out.
    until = commands.index(next(each for each in commands if each[0].startswith("retrospan golden run")))
    asking = ("retrospan why", "retrospan diff")
    assert walked == [each for each, _ in commands[: until + 1] if not each.startswith(asking)]
    for command, lines in first_page:
        for line in lines:
            assert line.replace(shown, stuck["run_id"][:8]) in said_by[command], (command, line)
    (golden, fork, first) = served.rows(
        "SELECT outcome, parent_link, tool_calls FROM runs ORDER BY started_at DESC"
    )
    assert (first["outcome"], first["tool_calls"]) == ("error", 20)
    assert (fork["outcome"], fork["parent_link"]) == ("ok", "forks")
    assert (golden["outcome"], golden["tool_calls"]) == ("ok", 3)
    # A prompt that changes is a red test.
    (folder / "prompt.txt").write_text("You answer customers. Search three times at most.")
    said = do("pytest -q test_refund.py")
    assert "1 failed" in said and "system[0].content" in said
