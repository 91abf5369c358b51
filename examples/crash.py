"""An agent is killed in the middle of its work; afterwards its state at any minute is asked.

    python examples/crash.py                          # watches a config until the kernel kills it
    retrospan spool send crash-spool                  # delivers what it had said; its next start does so by itself
    retrospan runs                                    # killed: who it was, what it was asked
    retrospan state last                              # what it held when it died, and what that rests on
    retrospan entity config/acme                      # what it believed, and since when
    retrospan entity config/acme --at TIME            # what it believed at 03:12

Nothing is said at the end of a span only: each call is in the spool within a tenth of a second, before its span ends.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from retrospan.exporter import decide, effect, instrument, observe, run, step

LIMITS = (100, 100, 250, 250, 80)


def watch(limit: int, tick: int) -> None:
    """Look at the config once: what was seen, what follows from it, what is done about it."""
    observe("config/acme", {"rate_limit": limit}, source="poll")
    if limit > 200:
        decide(
            "limit", "lower it", options=["lower it", "wait"], rationale=f"{limit} is more than the plan has"
        )
        with effect("set_limit", {"value": 200}):
            if tick == 3:
                die()


def die() -> None:
    """Give the spool the tenth of a second that is promised, and be killed as by the kernel: nothing can run after it."""
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)


def main(spool: str = "crash-spool") -> None:
    instrument(service_name="watcher", spool=spool)
    with run("watcher", kind="demo", conversation="night-shift", input="Keep acme within its plan."):
        for tick, limit in enumerate(LIMITS):
            with step(f"look {tick}", tick + 1, len(LIMITS), state={"tick": tick, "limit": limit}):
                watch(limit, tick)


if __name__ == "__main__":
    main(*sys.argv[1:])
