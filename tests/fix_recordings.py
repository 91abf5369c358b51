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

ROOT = Path(__file__).parent / "recordings"


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
    entry = manifest()[name]
    signals = {signal: tuple(_requests(ROOT / file)) for signal, file in entry["files"].items()}
    truth = gzip.decompress((ROOT / entry["truth"]).read_bytes()).decode().splitlines()
    return Recording(
        name=name,
        traces=signals.get("traces", ()),
        logs=signals.get("logs", ()),
        expected=entry["expected"],
        truth=[json.loads(line) for line in truth if line],
        off_script=bool(entry["deviations_from_script"]),
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `recording` with each of them."""
    if "recording" in metafunc.fixturenames:
        names = sorted(manifest())
        metafunc.parametrize("recording", [load_recording(name) for name in names], ids=names)


@pytest.fixture(scope="session")
def recordings() -> dict[str, Recording]:
    """All recordings by name."""
    return {name: load_recording(name) for name in manifest()}
