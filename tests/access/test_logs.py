"""Lines on standard error: one per event, whatever is in it; and nobody else writes there."""

from __future__ import annotations

import ast
import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from retrospan.ingest.logs import LONGEST, LibraryHandler, line, log_failure

TOP = Path(__file__).resolve().parents[2]
SHAPE = re.compile(r'time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=(info|warning|error) msg="[ -~]*"')
HOSTILE = (
    "one\ntwo",
    "one\r\ntime=2026-01-01T00:00:00.000Z level=info msg=forged",
    "\x1b[2J\x1b]0;owned\x07",
    'quote " level=error msg="x',
    "\u202egnol\u2066 \u2028 \u0085 \x00 \udcff",
    "\\n",
)


def message(text: str) -> str:
    found = json.loads(text.partition("msg=")[2])
    assert isinstance(found, str)
    return found


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.requirement("R45")
def test_a_message_is_one_line_that_reads_back_as_it_was(hostile: str) -> None:
    written = line(hostile, "warning")
    assert SHAPE.fullmatch(written)
    assert message(written) == hostile


@pytest.mark.requirement("R45")
def test_a_long_message_is_cut_and_says_so() -> None:
    written = line("\x1b" * 1_000_000)
    assert SHAPE.fullmatch(written)
    assert len(written) < 7 * LONGEST
    assert message(written).endswith(f"[{1_000_000 - LONGEST} more characters]")


def test_a_library_that_warns_thousands_of_times_is_heard_once_a_minute(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = 0.0
    handler = LibraryHandler(lambda: now)

    def warn(name: str, text: str, times: int = 1) -> None:
        for number in range(times):
            text_of_one = f"{text}\nsocket {number}"
            handler.emit(logging.LogRecord(name, logging.ERROR, "", 0, text_of_one, (), None))

    warn("asyncio", "socket.accept() out of system resource", 5000)
    warn("asyncio", "something else")
    warn("retrospan.ingest.load.loader", "ours are each of its own", 2)
    now = 61.0
    warn("asyncio", "socket.accept() out of system resource", 10)
    said = [message(text) for text in capsys.readouterr().err.splitlines()]
    assert [text.partition(": ")[2].partition("\n")[0] for text in said] == [
        "socket.accept() out of system resource",
        "something else",
        "ours are each of its own",
        "ours are each of its own",
        "socket.accept() out of system resource",
    ]
    assert said[-1].endswith("[4999 more like it since]")


@pytest.mark.requirement("R45")
def test_an_error_is_one_line_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError("bad\nvalue \x1b[31m")
    except ValueError as error:
        log_failure("reading", error)
    written = capsys.readouterr().err
    assert written.count("\n") == 1 and SHAPE.fullmatch(written.rstrip("\n"))
    assert message(written).startswith("reading: ValueError: bad\nvalue \x1b[31m (test_logs.py:")


def test_a_closed_standard_error_stops_nobody() -> None:
    program = "import sys; from retrospan.ingest.logs import log_event; sys.stderr.close(); log_event('lost'); print('on')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "on\n", "")


PROGRAM = """
import logging, threading
from retrospan.ingest.logs import install
install()
logging.getLogger("a.library").warning("name %s", "x\\ny")
logging.getLogger("a.library").info("not said")
try:
    raise KeyError("inner\\nline")
except KeyError:
    logging.getLogger("a.library").exception("it broke")
logging.getLogger("a.library").error("does not fit %d %d", "one")
logging.getLogger("a.library").error("no traceback", exc_info=False)
def die():
    raise RuntimeError("in a\\nthread")
thread = threading.Thread(target=die, name="worker")
thread.start()
thread.join()
"""


@pytest.mark.requirement("R45")
def test_what_libraries_log_and_threads_die_of_is_reported_in_the_same_form() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert all(SHAPE.fullmatch(written) for written in lines), done.stderr
    said = [message(written) for written in lines]
    assert said[0] == "a.library: name x\ny"
    assert said[1].startswith("a.library: it broke: KeyError: 'inner\\nline'")
    assert said[2] == "a.library: does not fit %d %d"
    assert said[3] == "a.library: no traceback"
    assert said[4].startswith("worker ended: RuntimeError: in a\nthread")
    assert len(said) == 5


@pytest.mark.requirement("R45")
def test_in_the_collector_only_one_function_writes_to_standard_error() -> None:
    """The command line has a screen of its own, which makes text safe for terminals."""
    writers: set[str] = set()
    for root in ("ingest", "queries", "schemas"):
        for file in (TOP / root / "retrospan").rglob("*.py"):
            if {"cli", "demo", "mcp", "torture"} & {*file.parts}:
                continue
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                named = isinstance(node, ast.Attribute) and node.attr in (
                    "stderr",
                    "print_exc",
                    "print_exception",
                )
                if named or (
                    isinstance(node, ast.alias) and node.name in ("stderr", "print_exc", "warnings")
                ):
                    writers.add(str(file.relative_to(TOP)))
    assert writers == {"ingest/retrospan/ingest/logs.py"}
