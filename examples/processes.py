"""One run over several processes: the parent passes a carrier to its children, and what they record is part of its run.

    python examples/processes.py
    retrospan show last

The carrier holds the span, the run and its origin, under the names of environment variables.
"""

from __future__ import annotations

import os
import subprocess
import sys

from retrospan.exporter import effect, instrument, run, step
from retrospan.exporter.recording import carrier, joined


def parent() -> None:
    instrumentation = instrument(service_name="examples")
    with run("translator", kind="demo", input="Translate two pages") as recorded:
        with step("hand out", 1, 2):
            workers = [
                subprocess.Popen(
                    [sys.executable, __file__, "page", str(page)], env={**os.environ, **carrier()}
                )
                for page in (1, 2)
            ]
            codes = [worker.wait() for worker in workers]
        with step("collect", 2, 2) as collecting:
            collecting.state(after={"translated": codes.count(0)})
    print(recorded.id)
    instrumentation.shutdown()


def child(page: int) -> None:
    instrumentation = instrument(service_name="examples-worker")
    # Without an argument `joined` reads the environment of the process.
    with joined(), step(f"page {page}"), effect("translate", {"page": page}, effect="write") as translating:
        translating.result(f"page {page} in French")
    instrumentation.shutdown()


if __name__ == "__main__":
    if sys.argv[1:2] == ["page"]:
        child(int(sys.argv[2]))
    else:
        parent()
