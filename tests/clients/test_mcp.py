"""`retrospan mcp` and a client of another language, at a pinned version."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from clients.conftest import Scene
from clients.environments import node_program, told

pytestmark = pytest.mark.long


def test_the_sdk_for_javascript_is_answered(scene: Scene) -> None:
    words = node_program("mcp_asks.mjs")
    command = [sys.executable, "-m", "retrospan.ingest.cli.main", "mcp", "--http", "127.0.0.1:0"]
    environ = {**os.environ, "RETROSPAN_URL": f"http://{scene.served.sql}"}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip().removeprefix("mcp=")
        try:
            found = told(words, url)
        finally:
            process.terminate()
    assert {name: json.loads(got) for name, got in found.items()} == {
        "the server": "retrospan",
        "instructions": True,
        "tools": ["runs", "why", "show", "state", "diff", "trace", "entity", "sql"],
        "the list is short": True,
        "a count": f'| "n"\n| {scene.facts["runs"]}',
        "a value": '| "a"\n| "it\'s"',
        "every line is quoted": True,
        "an answer is short": True,
        "a wrong type": True,
        "a refused statement": True,
    }
