"""The view `findings`: what rules wrote, what other runs settle, and sequences that an agent never had before."""

from __future__ import annotations

import json
from collections.abc import Sequence

from finding_runs import Run
from finding_scenes import contradiction, exact_loop, unconfirmed_effect
from populations import START, made
from story import Ask, tell

from retrospan.ingest.warehouse.embedded import EmbeddedStore


def test_findings_are_those_of_the_current_rows_of_a_run(views: EmbeddedStore, ask: Ask) -> None:
    run = exact_loop(1)
    tell(views, run, contradiction(2))
    assert ask("SELECT rule, count() AS n FROM findings GROUP BY rule ORDER BY rule") == [
        {"rule": "contradiction", "n": 3},
        {"rule": "exact_loop", "n": 1},
    ]
    run.acts, run.generation = run.acts[:4], 2
    tell(views, run)
    assert ask("SELECT rule FROM findings WHERE run_id = {run:String}", run=run.run_id) == []


def test_an_effect_is_settled_by_its_key_in_another_run(views: EmbeddedStore, ask: Ask) -> None:
    waiting = unconfirmed_effect(1)
    other = unconfirmed_effect(5)
    tell(views, waiting, other)
    question = "SELECT run_id FROM findings WHERE rule = 'unconfirmed_effect' ORDER BY run_id"
    assert [row["run_id"] for row in ask(question)] == [waiting.run_id, other.run_id]
    again = Run(9, "Pay it now.")
    again.does(
        "pay", {"bill": "B-1"}, {"paid": True, "receipt": "RC-5"}, effect="write", idempotency__key="bill-1"
    )
    tell(views, again.says("Paid."))
    assert [row["run_id"] for row in ask(question)] == [other.run_id]


def test_an_effect_of_a_run_in_progress_is_not_judged(views: EmbeddedStore, ask: Ask) -> None:
    run = unconfirmed_effect(1)
    tell(views, run)
    assert len(ask("SELECT rule FROM findings")) == 1
    pointer = json.loads(views.query("SELECT * FROM canon_runs", output_format="JSONEachRow").splitlines()[0])
    pointer.update(is_open=True, process_id="p-1", outcome="incomplete", generation=pointer["generation"])
    views.command("TRUNCATE TABLE canon_runs")
    views.insert("INSERT INTO canon_runs", json.dumps(pointer).encode(), "JSONEachRow")
    views.command(
        "INSERT INTO processes (tenant, process_id, last_alive_at, interval_seconds) "
        "SELECT 'default', 'p-1', now64(9, 'UTC'), 30"
    )
    assert ask("SELECT outcome FROM runs") == [{"outcome": "running"}]
    assert ask("SELECT rule FROM findings") == []


def habits(
    views: EmbeddedStore, agent: str | None, runs: Sequence[list[str]], kind: str = "production"
) -> None:
    """Store runs of an agent that called these tools, one a minute."""
    pointers, tools = [], []
    for number, called in enumerate(runs):
        key = {"tenant": "default", "run_id": f"{agent}-{number:04d}", "generation": 1}
        at = f"{START + 60 * number}.000000000"
        pointers.append(json.dumps({**key, "agent_name": agent, "run_kind": kind, "started_at": at}))
        tools.append(json.dumps({**key, "tools": called}))
    views.insert("INSERT INTO canon_runs", "\n".join(pointers).encode(), "JSONEachRow")
    views.insert("INSERT INTO canon_habits", "\n".join(tools).encode(), "JSONEachRow")


def test_a_sequence_is_odd_after_a_hundred_runs_without_a_new_one(views: EmbeddedStore, ask: Ask) -> None:
    usual, odd = ["find", "read", "send"], ["find", "send", "read"]
    habits(views, "old", [usual] * 150 + [odd] + [usual, odd] * 5)
    habits(views, "new", [usual] * 99 + [odd])
    habits(views, "fickle", [[f"tool {number % 149}", "send"] for number in range(149)] + [odd])
    habits(views, None, [usual] * 150 + [odd])
    habits(views, "asked", [usual] * 150 + [odd], kind="test")
    (row,) = ask("SELECT * FROM findings")
    assert (row["run_id"], row["agent_name"], row["rule"]) == ("old-0150", "old", "odd_sequence")
    assert row["evidence"] == ["run:old-0150"] and row["severity"] == "info" and row["step"] is None
    assert row["explanation"] == (
        "No run of this agent that is on record had called find > send (and 1 more) before, in 150 runs, and the last 149 of them did "
        "nothing new."
    )


def test_a_sequence_is_judged_by_a_thousand_runs_before_it(views: EmbeddedStore, ask: Ask) -> None:
    usual, odd, other = ["find", "read"], ["read", "find"], ["find"]
    habits(views, "long", [odd, *[usual] * 1_000, odd, *[usual] * 400, other, odd])
    habits(views, "aged", [*[usual] * 150, odd, *[usual] * 1_000])
    (found,) = ask("SELECT run_id, explanation FROM findings")
    assert found["run_id"] == "long-1001", (
        "what was done 1,001 runs before is odd again; what 1,000 runs have followed is not told any more"
    )
    assert found["explanation"] == (
        "None of the 1,000 runs of this agent before it had called (start) > read (and 1 more), and the last 999 of them did "
        "nothing new."
    )


def test_odd_runs_are_rare_where_nothing_changes(views: EmbeddedStore, ask: Ask) -> None:
    """Agents whose runs vary by chance: no more than one run in a hundred is said to be odd."""
    for seed in range(5):
        habits(views, f"agent {seed}", [run.tools for run in made(f"odd {seed}", 400)])
    assert ask("SELECT count() AS n FROM findings")[0]["n"] <= 20
