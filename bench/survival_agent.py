"""The agent that bench.survival kills: `python -m bench.survival_agent RUN_ID SPOOL|- SECONDS`.

The plainest use of the exporter: a run, its steps, what each observes, and writes to the world now and then. After each
call it prints what it has said and when (nanoseconds since 1970), so that whoever kills it knows what must survive.
"""

from __future__ import annotations

import os
import sys
import time

from retrospan.exporter import effect, instrument, observe, run, step

OBSERVATIONS, PER_STEP, PER_EFFECT = 847, 40, 25


def note(word: str, number: int) -> None:
    os.write(1, f"{word} {number} {time.time_ns()}\n".encode())


def main(run_id: str, spool: str, seconds: str) -> None:
    """Observe 847 times within so many seconds; with `-` for RUN_ID the exporter chooses the id, for SPOOL there is none."""
    instrument(service_name="survival", spool=None if spool == "-" else spool, frameworks=[])
    pause = float(seconds) / OBSERVATIONS
    given = None if run_id == "-" else run_id
    with run("orla", id=given, conversation="c-0312", input="Watch the config.") as recorded:
        os.write(1, f"id {recorded.id} {time.time_ns()}\n".encode())
        for first in range(0, OBSERVATIONS, PER_STEP):
            number = first // PER_STEP
            with step(f"step {number}", number + 1, state={"step": number, "seen": first}):
                note("step", number)
                for n in range(first, min(first + PER_STEP, OBSERVATIONS)):
                    observe("config/acme", {"limit": n}, id=f"{recorded.id}-{n}")
                    note("observation", n)
                    if n % PER_EFFECT == PER_EFFECT - 1:
                        with effect(f"write_{n}", {"n": n}):
                            note("begun", n)
                            time.sleep(3 * pause)
                        note("done", n)
                    time.sleep(pause)
            note("stepped", number)
    note("end", 0)
    time.sleep(3600)


if __name__ == "__main__":
    main(*sys.argv[1:])
