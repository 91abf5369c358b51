"""The agent of the story: `night_agent.py watch RUN_ID|- SPOOL` observes and waits to be killed; `resume` goes on from it.

It prints the reference of its run, and `ready` once all is said.
"""

from __future__ import annotations

import sys
import time

from retrospan.exporter import effect, instrument, observe, run, step

OBSERVATIONS = 847
WRITES = 6


def watch(run_id: str, spool: str) -> None:
    instrument(service_name="night", spool=spool, frameworks=[])
    with run("orla", id=None if run_id == "-" else run_id, conversation="c-0312", input="Watch acme.") as own:
        print(own.reference, flush=True)
        with step("collect", 1, 2, state={"phase": "collect"}):
            for number in range(OBSERVATIONS):
                observe("config/acme", {"limit": number}, id=f"{own.id}-{number}")
        with step("repair", 2, 2, state={"phase": "repair", "limit": OBSERVATIONS - 1}):
            for number in range(WRITES):
                with effect("write", {"n": number}) as done:
                    done.result({"ok": True})
            with effect("restart", {"host": "acme-1"}):
                print("ready", flush=True)
                time.sleep(3600)


def resume(reference: str, spool: str) -> None:
    instrumentation = instrument(service_name="night", spool=spool, frameworks=[])
    again = run("orla", resumes=reference, conversation="c-0312", input="Go on.")
    act = effect("restart", {"host": "acme-1"})
    with again, step("repair", 2, 2, state={"phase": "repair"}), act as done:
        done.result({"ok": True})
    instrumentation.shutdown(30.0)


if __name__ == "__main__":
    {"watch": watch, "resume": resume}[sys.argv[1]](*sys.argv[2:])
