"""`python -m bench.survival`: what is left of an agent that was killed; writes bench/SURVIVAL.md.

An agent observes 847 times and is killed with SIGKILL at a random moment, again and again: with a spool, which the next
process delivers, with a spool that was moved before, with a collector that is started after the kill, and without a
spool beside a collector that is up. What the agent had said a tenth of a second before must be in the warehouse once,
and the run must be what it was: its id, agent, input and conversation, its open step with its state, and the effects
whose outcome nobody knows.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.processes import TOP, Served
from bench.survival_agent import PER_STEP

#: What was said so long before the kill must be there.
GRACE_SECONDS = 0.1
#: How long an agent takes for its 847 observations, and how long it may take to start.
AGENT_SECONDS, START_SECONDS = 2.0, 60.0
ARRIVE_SECONDS = 60.0
#: So many are delivered and examined at the same time: each waits for the interpreter most of the time.
FOLLOWERS = 4
WAYS = ("spool", "moved spool", "collector later", "no spool")


@dataclass(slots=True)
class Story:
    """What an agent had said before it was killed, with the time of each in nanoseconds since 1970."""

    run_id: str = ""
    began_at: int = 0
    killed_at: int = 0
    said: dict[str, dict[int, int]] = field(default_factory=dict)

    def note(self, line: str) -> None:
        """Take a line that the agent printed."""
        word, what, at = line.split()
        if word == "id":
            self.run_id, self.began_at = what, int(at)
        else:
            self.said.setdefault(word, {})[int(what)] = int(at)

    def before(self, word: str, seconds: float) -> set[int]:
        """Return the numbers of what was said so long before the kill."""
        latest = self.killed_at - int(seconds * 1e9)
        return {number for number, at in self.said.get(word, {}).items() if at <= latest}


@dataclass(slots=True)
class Survival:
    """What became of many kills in one way."""

    way: str
    kills: int = 0
    said: int = 0
    found: int = 0
    early: int = 0  # kills before anything was said
    broken: list[str] = field(default_factory=list)


def kill_agent(endpoint: str, run_id: str, spool: Path | None, after: float) -> Story:
    """Start an agent, kill it so many seconds after its run began, and return what it had said."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("RETROSPAN_", "OTEL_"))}
    story = Story()
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "bench.survival_agent", run_id),
            *("-" if spool is None else str(spool), str(AGENT_SECONDS)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=TOP,
        env={**environ, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint},
    ) as agent:
        assert agent.stdout is not None
        story.note(agent.stdout.readline())
        time.sleep(max(0.0, story.began_at / 1e9 + after - time.time()))
        story.killed_at = time.time_ns()
        agent.send_signal(signal.SIGKILL)
        for line in agent.stdout:
            if line.endswith("\n") and len(line.split()) == 3:
                story.note(line)
    return story


def deliver(spool: Path, endpoint: str) -> None:
    """Send what a dead agent left, as a user does."""
    done = subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", "spool", "send", str(spool)],
        env={**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"spool send ended with {done.returncode}: {done.stderr}")


def examine(served: Served, story: Story, grace: float, outcomes: set[str]) -> tuple[int, int, list[str]]:
    """Return how much had to be there, how much is, and what does not hold."""
    run = f"'{story.run_id}'"
    wanted = story.before("observation", grace)
    if story.began_at > story.killed_at - int(grace * 1e9):
        return 0, 0, []  # not even the run had to be there
    wait_until(lambda: _settled(served, run, wanted))
    broken: list[str] = []

    def hold(what: str, found: Any, right: bool) -> None:
        if not right:
            broken.append(f"{story.run_id}: {what}: {found!r}")

    ids = [row[0] for row in served.rows(f"SELECT observation_id FROM observations WHERE run_id = {run}")]
    known = {f"{story.run_id}-{n}" for n in [*story.said.get("observation", {}), _next(story)]}
    hold("observed twice", len(ids) - len(set(ids)), len(ids) == len(set(ids)))
    hold("never said", set(ids) - known, set(ids) <= known)
    missing = {f"{story.run_id}-{n}" for n in wanted} - set(ids)
    hold("observations lost", sorted(missing)[:3], not missing)
    rows = served.rows(f"SELECT agent_name, input, conversation_id, outcome FROM runs WHERE run_id = {run}")
    named = [["orla", "Watch the config.", "c-0312"]]
    hold("the run", rows, [row[:3] for row in rows] == named and rows[0][3] in outcomes)
    broken += [f"{story.run_id}: {line}" for line in _open_step(served, story, run, grace)]
    broken += [f"{story.run_id}: {line}" for line in _effects(served, story, run, grace)]
    return len(wanted), len(wanted) - len(missing), broken


def _next(story: Story) -> int:
    return max(story.said.get("observation", {-1: 0})) + 1


def _settled(served: Served, run: str, wanted: set[int]) -> bool:
    health = served.health()
    if health.get("load_lag_records") or health["interpretation_lag_traces"]:
        return False
    return served.number(f"SELECT count() FROM observations WHERE run_id = {run}") >= len(wanted)


def _open_step(served: Served, story: Story, run: str, grace: float) -> list[str]:
    """Compare the step that was open with what the agent had said of it: its acts, or itself where it had none yet."""
    surely = story.before("step", grace) - set(story.said.get("stepped", {}))
    if not surely:
        return []
    rows = served.rows(
        "SELECT task_step_name, status, step_kind, state_before FROM steps "
        f"WHERE run_id = {run} AND task_step_name LIKE 'step %' ORDER BY step"
    )
    broken: list[str] = []
    for number in surely:
        own = [row for row in rows if row[0] == f"step {number}"]
        state = f'{{"step":{number},"seen":{number * PER_STEP}}}'
        if not own or own[0][3] != state:
            broken.append(f"open step {number}: {own!r}")
        elif own[0][2] == "step" and own[0][1] != "incomplete":
            broken.append(f"open step {number} is {own[0][1]}")
    return broken


def _effects(served: Served, story: Story, run: str, grace: float) -> list[str]:
    """Compare the effects whose outcome is not known with those that were begun and not done."""
    rows = dict(served.rows(f"SELECT tool_name, toString(effect_status) FROM effects WHERE run_id = {run}"))
    begun, done = story.said.get("begun", {}), story.said.get("done", {})
    broken: list[str] = []
    for number in story.before("begun", grace):
        found = rows.get(f"write_{number}")
        right = {"executed"} if number in story.before("done", grace) else {"unknown"}
        if number in done and number not in story.before("done", grace):
            right = {"executed", "unknown"}
        if found not in right and not (number == max(begun) and found == "executed"):
            broken.append(f"effect write_{number}: {found!r} instead of {sorted(right)}")
    return broken


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + ARRIVE_SECONDS
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)


def survive(
    way: str, kills: int, chance: random.Random, served: Served, folder: Path, grace: float
) -> Survival:
    """Kill so many agents in one way and examine each, while the next one lives."""
    survival = Survival(way)
    endpoint = f"http://{served.ports['http']}"
    outcomes = {"running", "lost"} if way == "no spool" else {"killed"}

    def follow(story: Story, spool: Path | None) -> tuple[Story, int, int, list[str]]:
        if spool is not None:
            if way == "moved spool":
                spool = spool.rename(spool.with_name(f"{spool.name}-moved"))
            deliver(spool, endpoint)
        return story, *examine(served, story, grace, outcomes)

    with ThreadPoolExecutor(FOLLOWERS) as behind:
        following: list[Future[tuple[Story, int, int, list[str]]]] = []
        for number in range(kills):
            run_id = f"{way.replace(' ', '-')}-{number}" if number % 2 else "-"
            spool = None if way == "no spool" else folder / f"spool-{way.replace(' ', '-')}-{number}"
            # A port where nobody listens is a collector that is not there yet.
            now = "http://127.0.0.1:9" if way == "collector later" else endpoint
            story = kill_agent(now, run_id, spool, chance.uniform(0, AGENT_SECONDS * 1.1))
            following.append(behind.submit(follow, story, spool))
            if sys.stderr.isatty():
                print(f"\r{way}: {number + 1}/{kills}", end="", file=sys.stderr)
    for each in following:
        story, wanted, found, broken = each.result()
        survival.kills += 1
        survival.early += not story.said
        survival.said += wanted
        survival.found += found
        survival.broken += broken
    return survival


def main() -> int:
    """Kill agents in each way; return 1 where a promise was broken."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--kills", type=int, default=200)
    words.add_argument("--seed", type=int, default=312)
    words.add_argument("--way", choices=WAYS, action="append", help="only this; writes no file")
    given = words.parse_args()
    lines: list[str] = []
    broken: list[str] = []
    for way in given.way or WAYS:
        with tempfile.TemporaryDirectory(prefix="retrospan-survival-") as name:
            folder = Path(name)
            with Served(folder / "data", folder / "errors.txt") as served:
                found = survive(way, given.kills, random.Random(given.seed), served, folder, GRACE_SECONDS)
        lines.append(f"| {way} | {found.kills} | {found.said:,} | {found.found:,} | {len(found.broken)} |")
        broken += found.broken
        print(lines[-1], flush=True)
    for line in broken[:50]:
        print(line)
    if given.way:
        return 1 if broken else 0
    text = "\n".join(
        [
            "# What is left of an agent that was killed",
            "",
            f"Written by `python -m bench.survival --kills {given.kills} --seed {given.seed}`: an agent is killed with",
            "SIGKILL while it makes 847 observations in two seconds; *said* counts those that it had made more than",
            "0.1 s before, *found* those of them that are in the warehouse, and *broken* everything that is lost, twice",
            "there, or otherwise than it was said: runs, open steps with their state, effects.",
            "",
            "| way | kills | said | found | broken |",
            "|---|---|---|---|---|",
            *lines,
            "",
        ]
    )
    (Path(__file__).resolve().parent / "SURVIVAL.md").write_text(text, encoding="utf-8")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
