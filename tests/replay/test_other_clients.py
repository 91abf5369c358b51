"""Clients that are not among the packages of the tests: aiohttp, and httpx over HTTP/2."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from recordings.record.framework import Framework
from recordings.replayed import environment
from replay.recorded import QUESTION, bundle, model_call, text
from replay.test_clients import cut

from retrospan.schemas.bundle.container import write_bundle

pytestmark = pytest.mark.soak
PROGRAM = Path(__file__).with_name("broken_off.py")
TOP = PROGRAM.parents[2]
CLIENTS = ("aiohttp", "http2", "http2-async")


@pytest.fixture(scope="module")
def python() -> Path:
    try:
        return environment("other-clients", Framework(("aiohttp", "httpx[http2]"), driver=""), {})
    except (OSError, RuntimeError) as error:
        pytest.skip(f"its clients cannot be installed here: {error}")


def asked(python: Path, client: str, file: Path) -> dict[str, str]:
    roots = os.pathsep.join(str(TOP / root) for root in ("exporter", "schemas"))
    done = subprocess.run(
        [str(python), str(PROGRAM), client, str(file)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": roots},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("client", CLIENTS)
def test_a_stream_comes_whole(python: Path, client: str, tmp_path: Path) -> None:
    file = tmp_path / "run.bundle"
    write_bundle(
        file, bundle(model_call(1, [text("user", QUESTION)], text("assistant", "Snow on the fells.")))
    )
    assert asked(python, client, file) == {
        "text": "Snow on the fells.", "error": None, "verdict": "identical",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("client", "kind", "error"),
    [
        ("aiohttp", "APIConnectionError", "aiohttp.ClientPayloadError"),
        ("aiohttp", "ReadTimeout", "aiohttp.SocketTimeoutError"),
        ("http2", "APIConnectionError", "httpx.RemoteProtocolError"),
        ("http2", "ReadTimeout", "httpx.ReadTimeout"),
        ("http2-async", "APIConnectionError", "httpx.RemoteProtocolError"),
        ("http2-async", "ReadTimeout", "httpx.ReadTimeout"),
    ],
)
def test_a_stream_breaks_off_as_it_did(
    python: Path, client: str, kind: str, error: str, tmp_path: Path
) -> None:
    file = tmp_path / "run.bundle"
    write_bundle(file, cut(kind))
    found = asked(python, client, file)
    assert (found["error"], found["verdict"]) == (error, "identical")
    assert found["text"].startswith("Snow on the fells")
