"""An update through clients that are not among the packages of the tests: each in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from golden.test_update_forms import streamed
from recordings.record.framework import Framework
from recordings.replayed import environment
from replay.conftest import Provider, said_by_chat

pytestmark = pytest.mark.soak

PROGRAM = Path(__file__).with_name("updated_by_client.py")
TOP = PROGRAM.parents[2]
SAID = "said live"


@pytest.fixture(scope="module")
def python() -> Path:
    try:
        return environment("clients", Framework(("aiohttp", "botocore"), driver=""), {})
    except (OSError, RuntimeError) as error:
        pytest.skip(f"its clients cannot be installed here: {error}")


@pytest.fixture
def model() -> Iterator[Provider]:
    stream, whole = streamed({"type": "text", "content": SAID})

    def answer(body: dict[str, Any]) -> dict[str, Any] | bytes:
        if "model" in body:
            return said_by_chat(SAID)
        return next(answers)

    answers: Iterator[dict[str, Any] | bytes] = iter([whole, stream])
    found = Provider(answer)
    yield found
    found.close()


def test_each_client_is_asked_and_taken_down(python: Path, model: Provider) -> None:
    roots = os.pathsep.join(str(TOP / root) for root in ("exporter", "schemas"))
    for number, client in enumerate(("aiohttp", "botocore", "botocore-stream"), 1):
        done = subprocess.run(
            [str(python), str(PROGRAM), client, model.url],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": roots},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told == {"live": SAID, "again": SAID, "answer": SAID, "verdict": "identical"}, client
        assert len(model.asked) == number, "it is asked once"
