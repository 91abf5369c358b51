"""A program that is told of an alert: its data come on standard input, and nothing else comes with them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from retrospan.ingest.alerts.attempt import Attempt, Message
from retrospan.ingest.alerts.deliverer import Deliverer
from retrospan.ingest.alerts.rules import AlertRules, Program

MESSAGE = Message("a1", 1, b'{"text":"$(touch /tmp/x); `id`"}')
LIMIT_SECONDS = 1.5


def told(script: str, folder: Path, message: Message = MESSAGE, *words: str) -> Attempt:
    file = folder / "program"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o700)
    target = Program(name="p", command=(str(file), *words))
    return Deliverer(AlertRules((), {"p": target}), LIMIT_SECONDS).deliver("p", message)


def test_it_gets_the_data_and_a_bare_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETROSPAN_TOKEN", "a secret")
    opened = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(opened, True)
    try:
        attempt = told(
            f'cat > {tmp_path}/in; env > {tmp_path}/env; echo "$@" > {tmp_path}/words; '
            f"pwd > {tmp_path}/pwd; ls /proc/self/fd | wc -l > {tmp_path}/open",
            tmp_path,
            MESSAGE,
            "$HOME",
            "; id",
        )
    finally:
        os.close(opened)
    assert attempt == Attempt("sent")
    assert (tmp_path / "in").read_bytes() == MESSAGE.body
    assert (tmp_path / "words").read_text() == "$HOME ; id\n", "no shell of ours reads the words"
    assert (tmp_path / "pwd").read_text() == "/\n"
    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert names <= {"PATH", "LANG", "PWD", "SHLVL", "_", "OLDPWD"}
    assert int((tmp_path / "open").read_text()) <= 4, "standard ones, and the directory that ls reads"


def test_one_that_does_not_end_is_killed_with_what_it_started(tmp_path: Path) -> None:
    began = time.monotonic()
    attempt = told(f"sleep 60 & echo $! > {tmp_path}/child; wait", tmp_path)
    assert attempt.outcome == "refused" and "killed" in attempt.reason
    assert time.monotonic() - began < LIMIT_SECONDS + 30
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            break
        if state == "Z":
            break
        time.sleep(0.05)
    else:
        raise AssertionError("its child lives on")


def test_one_that_reads_nothing_does_not_hold_up(tmp_path: Path) -> None:
    began = time.monotonic()
    assert told("exec sleep 60", tmp_path, Message("a", 1, b"x" * 250_000)).outcome == "refused"
    assert time.monotonic() - began < LIMIT_SECONDS + 30


def test_one_that_ends_without_reading_is_told_by_its_code(tmp_path: Path) -> None:
    assert told("exit 0", tmp_path, Message("a", 1, b"x" * 250_000)) == Attempt("sent")
    assert told("exit 3", tmp_path) == Attempt("refused", "it ended with 3")
    assert told("kill -TERM $$", tmp_path) == Attempt("refused", "it was ended by SIGTERM")


def test_what_it_prints_is_not_kept(tmp_path: Path) -> None:
    assert told("head -c 100000000 /dev/zero", tmp_path) == Attempt("sent")


def test_one_that_others_could_replace_or_that_is_not_there_is_not_run(tmp_path: Path) -> None:
    told("true", tmp_path)
    (tmp_path / "program").chmod(0o722)
    target = Program(name="p", command=(str(tmp_path / "program"),))
    attempt = Deliverer(AlertRules((), {"p": target})).deliver("p", MESSAGE)
    assert attempt.outcome == "refused" and "by others" in attempt.reason
    gone = Program(name="p", command=(str(tmp_path / "gone"),))
    attempt = Deliverer(AlertRules((), {"p": gone})).deliver("p", MESSAGE)
    assert attempt.outcome == "refused" and "cannot read the program" in attempt.reason
