"""Recorded OTLP of real agent frameworks, with the facts that their scripts ordered."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from recordings.known_misses import known_failures

ROOT = Path(__file__).parent / "recordings"
#: What the kit recorded, each folder with a manifest of its own.
TAKEN = ROOT / "taken"
HELD_BACK = ROOT / "held_back"
#: More instrumentations, recorded like those of the main folder.
OTHERS = ROOT / "others"


@dataclass(frozen=True)
class Recording:
    """One recorded export: the requests as they were received."""

    name: str
    traces: tuple[bytes, ...]
    logs: tuple[bytes, ...]
    expected: dict[str, Any]
    truth: list[dict[str, Any]]
    off_script: bool


def _requests(path: Path) -> Iterator[bytes]:
    data, at = gzip.decompress(path.read_bytes()), 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        yield data[at : at + size]
        at += size


@cache
def manifest() -> dict[str, dict[str, Any]]:
    listed = json.loads((ROOT / "MANIFEST.json").read_text(encoding="utf-8"))["recordings"]
    return {f"{entry['framework']}/{entry['scenario']}": entry for entry in listed}


@cache
def load_recording(name: str) -> Recording:
    return read_recording(ROOT, manifest()[name])


def read_recording(folder: Path, entry: dict[str, Any]) -> Recording:
    """Read what an entry of the folder's manifest lists."""
    signals = {signal: tuple(_requests(folder / file)) for signal, file in entry["files"].items()}
    truth = gzip.decompress((folder / entry["truth"]).read_bytes()).decode().split("\n")
    return Recording(
        name=f"{entry['framework']}/{entry['scenario']}",
        traces=signals.get("traces", ()),
        logs=signals.get("logs", ()),
        expected=entry["expected"],
        truth=[json.loads(line) for line in truth if line],
        off_script=bool(entry["deviations_from_script"]),
    )


@cache
def taken(folder: Path = TAKEN) -> dict[str, Recording]:
    """What the kit recorded in a folder, by name."""
    listed = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))["recordings"]
    recordings = [read_recording(folder, entry) for entry in listed]
    return {recording.name: recording for recording in sorted(recordings, key=lambda each: each.name)}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `recording` with each of them.

    A module that says TAKEN = True also gets what the kit recorded and the others; known_misses.toml says for which of
    these a test is known to fail.
    """
    if "recording" not in metafunc.fixturenames:
        return
    names = sorted(manifest())
    cases = [pytest.param(load_recording(name), id=name) for name in names]
    known = known_failures(metafunc.function.__name__)
    more = taken() | taken(OTHERS) if getattr(metafunc.module, "TAKEN", False) else {}
    for name, recording in more.items():
        reason = known.get(name)
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
        cases.append(pytest.param(recording, id=name, marks=marks))
    metafunc.parametrize("recording", cases)


@pytest.fixture(scope="session")
def recordings() -> dict[str, Recording]:
    """All recordings by name."""
    return {name: load_recording(name) for name in manifest()}
