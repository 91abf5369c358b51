"""The facts of the kit's recordings that their bytes hold and that do not come back yet: known_misses.toml, read."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _tables() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def known_misses(recording: str) -> dict[str, str]:
    """The names of a recording's facts that are known to be missed, each with the reason."""
    framework, scenario = recording.split("/")
    return {
        fact: entry["reason"]
        for entry in _tables()["miss"]
        if entry["framework"] == framework
        for fact in entry["facts"].get(scenario, ())
    }


def known_failures(test: str) -> dict[str, str]:
    """The recordings for which a test of all recordings is known to fail, each with the reason."""
    return {
        f"{entry['framework']}/{scenario}": entry["reason"]
        for entry in _tables()["failure"]
        for scenario in entry["tests"].get(test, ())
    }


def known_silent() -> dict[str, str]:
    """The recordings that are known to be misread without a problem that says so, each with the reason."""
    return {
        f"{entry['framework']}/{scenario}": entry["reason"]
        for entry in _tables().get("silent", ())
        for scenario in entry["scenarios"]
    }
