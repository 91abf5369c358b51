"""A collector's SQL port over hand-written runs, and two ways to ask it: in this process, and in a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from retrospan.ingest.cli.main import main

HERE = Path(__file__).parent
REFUND = "4bf92f3577b34da6a3ce929d0e0e4736"
HELD = "7f3e91d0a4b34da6a3ce929d0e0e4736"
ASKED = "b83f51aaa4b34da6a3ce929d0e0e4736"
LOOP = "91c0d7e2a4b34da6a3ce929d0e0e4736"
CUT_SHORT = "d2209b6c00b34da6a3ce929d0e0e4736"
HOSTILE = "bad0000000b34da6a3ce929d0e0e4736"
SGR = re.compile(r"\x1b\[(?:0|1|2|3[1-6])m")


@dataclass(frozen=True)
class Said:
    """What a command line answered."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Ask(Protocol):
    """Runs one command line."""

    def __call__(self, *words: str) -> Said: ...


class Terminal(Protocol):
    """Runs one command line in a terminal of so many columns and lines; `out` holds both streams."""

    def __call__(
        self, *words: str, columns: int = 100, lines: int = 500, environ: Mapping[str, str] | None = None
    ) -> Said: ...


@contextmanager
def serving(directory: Path, *flags: str) -> Iterator[str]:
    """A process that serves the scenes; gives its address."""
    command = [sys.executable, str(HERE / "serve_scenes.py"), str(directory), *flags]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, "the warehouse of the scenes did not start"
        yield f"http://127.0.0.1:{port}"
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.fixture(scope="session")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a SQL port over the runs of `scenes.py`."""
    with serving(tmp_path_factory.mktemp("scenes")) as url:
        yield url


@pytest.fixture(scope="session")
def empty_collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a SQL port without any run."""
    with serving(tmp_path_factory.mktemp("empty"), "--empty") as url:
        yield url


def asking(url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RETROSPAN_URL", url)
    monkeypatch.setenv("TZ", "UTC")

    def ask(*words: str) -> Said:
        capsys.readouterr()
        code = main(words)
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return ask


@pytest.fixture
def ask(collector: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs a command line in this process, as into a pipe."""
    return asking(collector, monkeypatch, capsys)


@pytest.fixture
def ask_empty(
    empty_collector: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Ask:
    return asking(empty_collector, monkeypatch, capsys)


def run_in_terminal(
    words: list[str], url: str, columns: int = 100, lines: int = 500, environ: Mapping[str, str] | None = None
) -> Said:
    """Runs a command line in a real terminal; `out` holds both streams, `err` is empty."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "FORCE_COLOR", "PAGER", "COLUMNS", "LINES")
    }
    kept |= {"RETROSPAN_URL": url, "TERM": "xterm", "TZ": "UTC", "LANG": "C.UTF-8", "PYTHONUTF8": "1"}
    kept |= environ or {}
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    command = [sys.executable, "-m", "retrospan.ingest.cli.main", *words]
    with subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=kept, close_fds=True
    ) as process:
        os.close(slave)
        pieces: list[bytes] = []
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the terminal closes with its last writer
                break
            if not piece:
                break
            pieces.append(piece)
        os.close(master)
        code = process.wait(60)
    return Said(code, b"".join(pieces).decode().replace("\r\n", "\n"), "")


@pytest.fixture
def terminal(collector: str) -> Terminal:
    """Runs a command line in a real terminal."""

    def run(
        *words: str, columns: int = 100, lines: int = 500, environ: Mapping[str, str] | None = None
    ) -> Said:
        return run_in_terminal(list(words), collector, columns, lines, environ)

    return run


def steering(text: str) -> list[str]:
    """The characters of an answer that a terminal would obey, beside line feeds and our own colours."""
    rest = SGR.sub("", text)
    return [
        c for c in rest if c != "\n" and (ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u202d\u2066")
    ]
