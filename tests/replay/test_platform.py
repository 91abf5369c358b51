"""Clients tell their provider where they run: Python asks a program of the system for it, and nobody else may."""

from __future__ import annotations

import platform
import subprocess

import pytest
from replay.recorded import weather_bundle

from retrospan.exporter.replay import replay
from retrospan.schemas.errors import ReplayRefused


def test_python_may_ask_where_it_runs_and_a_program_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    known = platform.platform(), platform.processor()
    monkeypatch.setattr(platform, "_uname_cache", None)
    monkeypatch.setattr(platform, "_platform_cache", {})
    with replay(weather_bundle()) as session:
        assert (platform.platform(), platform.processor()) == known
        with pytest.raises(ReplayRefused, match="starting the program uname"):
            subprocess.run(["uname", "-p"], check=False)
    assert [each.what for each in session.report.refused] == ["starting the program uname"]
