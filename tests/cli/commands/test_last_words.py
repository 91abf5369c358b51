"""What the commands say of a run that was killed, over a real collector."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
import verified
from fix_collector import Served
from stopped_agent import BEGAN, PROCESS, RUN, agent, observed, said_before_it_died, span, write
from telling import SECOND, alive, killed, logs_request, spans_request

from retrospan.schemas import attributes as names


def both(served: Served, *words: str) -> str:
    """What a command prints, on both streams."""
    environ = {**os.environ, "RETROSPAN_URL": f"http://{served.sql}"}
    command = [sys.executable, "-m", "retrospan.ingest.cli.main", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, env=environ)
    return done.stdout + done.stderr


def dies(served: Served) -> None:
    done, logs = said_before_it_died()
    served.send([spans_request(one.ended()) for one in done], [logs_request(*logs, killed(PROCESS))])
    served.wait_idle()


@pytest.mark.long
def test_a_killed_run_is_told_by_every_command(served: Served) -> None:
    dies(served)
    assert " killed " in served.run("runs", "--outcome", "killed")
    state = served.run("state", RUN)
    first = state.splitlines()[0]
    assert "the state as step 3 (tool send) began, which has not ended" in first
    assert "from 20 observations, the last at 2026-09-21 14:13:21.290" in first
    for said in (state, served.run("show", RUN)):
        words = said[said.index("Last words") :]
        assert "last ended          step 2 (tool send, task step 1), 2026-09-21 14:13:22.600" in words
        assert 'state after       {"checked":2}' in words
        assert "in step             step 3 (tool send, task step 2), 2026-09-21 14:13:23.500" in words
        assert 'state before      {"checked":2}' in words
        assert 'sent, not answered  step 3: send(to="c")' in words
        assert "may have happened   step 3: send (write, unknown), key c" in words
        undone = words[words.index("would be undone") :]
        assert [key in undone for key in ("key a", "key b", "key c")] == [True, True, True]
    rows = [json.loads(line) for line in served.run("state", RUN, "--json").splitlines()]
    assert [(row["key"], row["value"]) for row in rows] == [("checked", 2)]
    # At any minute.
    earlier = served.run("state", RUN, "--at", "2026-09-21T14:13:21.25Z")
    assert "from 16 observations" in earlier and "Last words" not in earlier


@pytest.mark.long
def test_nothing_is_known_before_it_was_said(served: Served) -> None:
    root = agent()
    step = {names.STEP_NAME: "check", names.STATE_BEFORE: '{"checked":0}'}
    first = span(2, 1, step, more={names.STATE_AFTER: '{"checked":2}'})
    following = span(3, 3, {names.STEP_NAME: "mend"})  # what it began with, nobody said
    tool = write(4, 1.2, "a", parent=2)
    cut = write(6, 3.5, "c", "planned", parent=3)
    logs = [one.begun() for one in (root, first, following, tool, cut)]
    logs += [observed(1.5, 1).as_log(first), observed(3.9, 1).as_log(following)]
    served.send([spans_request(first.ended(), tool.ended())], [logs_request(*logs, killed(PROCESS))])
    served.wait_idle()
    began, told = both(served, "state", RUN, "--step", "2"), both(served, "state", RUN)
    assert "from 1 observation, the last at 2026-09-21 14:13:21.500" in began, (
        "the second was made in the step"
    )
    assert "Last words" not in began
    assert "from 2 observations, the last at 2026-09-21 14:13:23.900" in told and "Last words" in told
    # What the step before left is newer than what it began with.
    assert (
        "Last known: as step 1 ended (retrospan state nightly-7 --at 2026-09-21T14:13:22.200000000Z)" in began
    )
    left = served.run("state", RUN, "--at", "2026-09-21T14:13:22.200000000Z")
    assert "as step 1 (tool send) left it, before step 2 (tool send)" in left and left.split()[-1] == "2"
    first_began = served.run("state", RUN, "--at", "2026-09-21T14:13:21.3Z")
    assert "during step 1 (tool send)" in first_began and first_began.split()[-1] == "0"


@pytest.mark.long
def test_an_agent_that_only_observed_tells_what_it_believed(served: Served) -> None:
    root = agent()
    facts = [observed(1 + number / 1000, number % 40) for number in range(847)]
    facts = [replace(fact, event_id=f"{place:016x}") for place, fact in enumerate(facts)]
    logs = [root.begun(), *(fact.as_log(root) for fact in facts), alive(PROCESS), killed(PROCESS)]
    served.send((), [logs_request(*logs)])
    served.wait_idle()
    said = served.run("state", RUN)
    assert "from 847 observations, the last at 2026-09-21 14:13:21.846" in said
    assert said.count('"seen ') == 40
    # The same in another process, from the log.
    served.kill()
    served.start()
    served.wait_idle()
    assert served.run("state", RUN) == said


@pytest.mark.soak
def test_what_only_log_records_tell_is_verified_and_rebuilt(served: Served) -> None:
    dies(served)
    lonely = replace(span(9, 5, {names.STEP_NAME: "far"}), trace=3, run_id="")
    served.send((), [logs_request(observed(5, 1).as_log(lonely))])
    served.wait_idle()
    before = served.rows("SELECT * EXCEPT (interpreted_by) FROM runs ORDER BY run_id")
    assert [(row["run_id"], row["incomplete_because"]) for row in before] == [
        (f"{3:032x}", "no_root"),
        (RUN, "killed"),
    ]
    found = verified.ask(served)
    assert (found.code, found.wrong) == (0, {})
    served.run("rebuild")
    served.wait_idle()
    assert served.rows("SELECT * EXCEPT (interpreted_by) FROM runs ORDER BY run_id") == before
    # Its end comes after all.
    served.send([spans_request(agent(until=BEGAN + 100 * SECOND).ended())])
    served.wait_idle()
    assert served.rows("SELECT outcome FROM runs WHERE run_id = {run:String}", run=RUN) == [{"outcome": "ok"}]
