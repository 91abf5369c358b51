"""On a system where a collector cannot run, the commands that start one say so, and what to do."""

from __future__ import annotations

import sys

import pytest

from retrospan.ingest.cli.main import main
from retrospan.ingest.doctor.machine import check_system


@pytest.mark.parametrize(("system", "named"), [("win32", "Windows"), ("freebsd14", "freebsd14")])
@pytest.mark.parametrize("command", ["serve", "demo"])
def test_a_collector_is_refused_with_what_works_there(
    command: str, system: str, named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check_system().result == "ok"
    monkeypatch.setattr(sys, "platform", system)
    assert main([command]) == 2
    said = capsys.readouterr().err
    assert f"a collector runs on Linux and macOS, and this is {named}" in said
    assert "commands query from here" in " ".join(said.split())
    found = check_system()
    assert (found.check, found.result) == ("system", "failed") and named in found.said
