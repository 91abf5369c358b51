"""What `retrospan verify --json` says of a collector."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fix_collector import Served


@dataclass(frozen=True)
class Verified:
    """What `verify` said: its exit code, the places, the parts that cover something, and the head."""

    code: int
    wrong: dict[str, str]
    head: str
    health: dict[str, Any]
    lines: list[dict[str, Any]]

    def names(self, place: str, what: str) -> bool:
        return any(re.search(place, where) and re.search(what, said) for where, said in self.wrong.items())


def verify(data: Path, *words: str, before: Callable[[Served], object] = lambda served: None) -> Verified:
    """Start a collector on the directory and ask it."""
    served = Served(data, data.parent / "stderr.txt")
    try:
        served.wait_idle()
        before(served)
        return ask(served, *words)
    finally:
        served.kill()


def ask(served: Served, *words: str) -> Verified:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "retrospan.ingest.cli.main",
            "verify",
            "--json",
            *(words or ("--full", "--derived")),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "RETROSPAN_URL": f"http://{served.sql}"},
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr + served.stderr()[-2000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = {
        str(line.get("where") or f"{line['chain']} {line['at']}"): str(line["wrong"])
        for line in lines
        if line.get("wrong")
    }
    (head,) = [line["head"] for line in lines if "head" in line]
    assert (done.returncode == 1) == bool(wrong)
    return Verified(done.returncode, wrong, head, served.health(), lines)
