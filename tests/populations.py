"""Populations of runs for `drift`: made by a seed, written straight into the canonical tables.

A tenant is a comparison of its own: its runs of version `a` are the baseline, those of `b` the candidate. `drift`
answers for each tenant by itself, so one question compares them all.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from retrospan.schemas.migrate import shipped
from retrospan.schemas.store import Store

START = 1_780_000_000
TOOLS: tuple[str, ...] = ("search", "read", "write", "send", "refund")
SHARES = (0.4, 0.3, 0.15, 0.1, 0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How runs of a population behave."""

    shares: Sequence[float] = SHARES
    tokens: float = 4000.0  # median of the input tokens
    seconds: float = 8.0  # median duration
    failing: float = 0.05
    looping: float = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeRun:
    run_id: str
    tools: list[str]
    steps: int
    input_tokens: int | None
    output_tokens: int | None
    duration_ms: float
    outcome: str
    loops: bool


def made(seed: str, size: int, kind: Kind | None = None) -> list[MadeRun]:
    """So many runs. Calls inside a run are alike: a run has a taste of its own, as real ones have."""
    chance, kind = random.Random(seed), kind or Kind()
    runs: list[MadeRun] = []
    for number in range(size):
        count = min(1 + int(chance.expovariate(0.25)), 30)
        taste = [share * chance.gammavariate(3, 1 / 3) for share in kind.shares]
        tools = chance.choices(TOOLS, taste, k=count)
        runs.append(
            MadeRun(
                run_id=f"{seed}-{number:04d}",
                tools=tools,
                steps=2 * count + 1,
                input_tokens=int(kind.tokens * math.exp(chance.gauss(0, 0.5))),
                output_tokens=int(500 * math.exp(chance.gauss(0, 0.5))),
                duration_ms=kind.seconds * 1000 * math.exp(chance.gauss(0, 0.6)),
                outcome=chance.choices(("ok", "error"), (1 - kind.failing, kind.failing))[0],
                loops=chance.random() < kind.looping,
            )
        )
    return runs


def write(store: Store, tenant: str, version: str, runs: Iterable[MadeRun]) -> None:
    """Store runs as one side of a tenant's comparison."""
    pointers: list[str] = []
    calls: list[str] = []
    for number, run in enumerate(runs):
        key = {"tenant": tenant, "run_id": f"{version}-{run.run_id}", "generation": 1}
        pointers.append(
            json.dumps(
                {
                    **key,
                    "agent_name": "orla",
                    "agent_version": version,
                    "run_kind": "production",
                    "started_at": f"{START + number}.000000000",
                    "duration_ms": run.duration_ms,
                    "outcome": run.outcome,
                    "steps": run.steps,
                    "tool_calls": len(run.tools),
                    "input_tokens": run.input_tokens,
                    "output_tokens": run.output_tokens,
                }
            )
        )
        tools = ["search"] * 3 + run.tools[3:] if run.loops else run.tools
        for ordinal, tool in enumerate(tools, start=1):
            equal = run.loops and ordinal <= 3
            calls.append(
                json.dumps(
                    {
                        **key,
                        "ordinal": ordinal,
                        "step": 2 * ordinal,
                        "tool_name": tool,
                        "status": "ok",
                        "arguments_hash": "same" if equal else f"{run.run_id} {ordinal}",
                        "started_at": f"{START + number}.{ordinal:09d}",
                    }
                )
            )
    store.insert("INSERT INTO canon_runs", "\n".join(pointers).encode(), "JSONEachRow")
    store.insert("INSERT INTO canon_tool_calls", "\n".join(calls).encode(), "JSONEachRow")
    fill(store)


def fill(store: Store) -> None:
    """Make of the tool calls that are there what the interpreter writes with them, as for runs of an older release."""
    for _, name, statement in shipped():
        if name.endswith(("_fill_canon_loops", "_fill_canon_habits")):
            store.command(statement)
