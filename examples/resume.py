"""Checkpoint and resume: when a task dies in its second step, another process continues it from there.

    python examples/resume.py start task.json     # fails in step 2, as ordered
    python examples/resume.py resume task.json

The two are runs of their own: the second names the first as its parent, and both have the same origin.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from retrospan.exporter import checkpoint, instrument, run, step

STEPS = ("fetch", "transform", "publish")


def save(file: Path, state: dict[str, Any], done: int, reference: str, last: str | None) -> str:
    """Write down where the task is, and by which name its run will be found."""
    made = checkpoint(trigger="step", parent=last)
    saved = {"state": state, "done": done, "run": reference, "checkpoint": made}
    file.write_text(json.dumps(saved), encoding="utf-8")
    return made


def work(state: dict[str, Any], name: str, fails: bool) -> None:
    if fails:
        raise ConnectionError("the disk of the warehouse is full")
    state["log"] = [*state.get("log", []), f"{name}: done"]


def go_on(file: Path, fails_at: str) -> None:
    saved = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    state: dict[str, Any] = saved.get("state", {"task": "nightly"})
    last: str | None = saved.get("checkpoint")
    with run("pipeline", kind="demo", resumes=saved.get("run")) as recorded:
        for index, name in enumerate(STEPS, 1):
            if index <= saved.get("done", 0):
                continue
            with step(name, index, len(STEPS), state=state):
                work(state, name, fails=name == fails_at)
            last = save(file, state, index, recorded.reference, last)


def main(verb: str, file: str) -> None:
    instrumentation = instrument(service_name="examples")
    try:
        go_on(Path(file), fails_at="transform" if verb == "start" else "")
    except ConnectionError as error:
        print(f"stopped: {error}")
    instrumentation.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
