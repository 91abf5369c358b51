"""A loop is three or more executed calls in a row of one agent with the same tool and arguments."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from typing import Any

from populations import fill
from story import Ask, Story, calls

from retrospan.ingest.interpret.rows.habit_rows import habit_rows, loop_rows
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas.canonical import ToolCallRow

_COLUMNS = "agent_name, tool_name, arguments, repeats, first_step, last_step, same_result"


def test_three_equal_calls_with_model_calls_between_are_a_loop(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    for result in ([], [], ["x"]):
        story.model(calls("search", q="a"))
        story.tool("search", {"q": "a"}, result)
    story.tool("send", {"to": "b"}, "sent")
    story.tell(views)
    assert ask(f"SELECT {_COLUMNS} FROM loops WHERE run_id = 'r'") == [
        {
            "agent_name": "orla",
            "tool_name": "search",
            "arguments": '{"q":"a"}',
            "repeats": 3,
            "first_step": 2,
            "last_step": 6,
            "same_result": False,
        }
    ]


def test_two_equal_calls_another_and_an_equal_one_are_none(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    for query in ("a", "a", "b", "a"):
        story.tool("search", {"q": query}, [])
    story.tell(views)
    assert ask("SELECT 1 AS n FROM loops") == []


def test_a_call_that_never_ran_neither_counts_nor_interrupts(views: EmbeddedStore, ask: Ask) -> None:
    for run_id, fates in (("two", ("ok", "never", "ok")), ("three", ("ok", "never", "error", "ok"))):
        story = Story(run_id)
        for number, fate in enumerate(fates):
            call_id = f"call-{number}"
            story.model(calls("search", call_id, q="a"))
            if fate != "never":
                error = "Timeout" if fate == "error" else None
                story.tool("search", {"q": "a"}, [], error=error, call_id=call_id)
        story.tell(views)
    statuses = ask(
        "SELECT groupArray(status) AS s FROM (SELECT * FROM tool_calls WHERE run_id = 'three' ORDER BY ordinal)"
    )
    assert statuses[0]["s"][1] not in ("ok", "error")
    found = ask("SELECT run_id, repeats, same_result FROM loops")
    assert found == [{"run_id": "three", "repeats": 3, "same_result": True}]


def test_agents_are_counted_apart(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    for agent in ("ada", "bob", "ada", "bob", "ada"):
        story.tool("search", {"q": "a"}, [], agent=agent)
    story.tell(views)
    assert ask("SELECT agent_name, repeats, first_step, last_step FROM loops") == [
        {"agent_name": "ada", "repeats": 3, "first_step": 1, "last_step": 5}
    ]


def test_unknown_arguments_equal_nothing_and_unknown_results_are_not_the_same(
    views: EmbeddedStore, ask: Ask
) -> None:
    story = Story("arguments")
    for _ in range(3):
        story.tool("search", None, [])
    story.tell(views)
    story = Story("results")
    for _ in range(3):
        story.tool("search", {"q": "a"}, None)
    story.tell(views)
    assert ask("SELECT run_id, same_result FROM loops") == [{"run_id": "results", "same_result": False}]


def test_one_run_can_loop_twice(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    for query in "aaabbbb":
        story.tool("search", {"q": query}, [])
    story.tell(views)
    assert ask("SELECT first_step, last_step, repeats FROM loops ORDER BY first_step") == [
        {"first_step": 1, "last_step": 3, "repeats": 3},
        {"first_step": 4, "last_step": 7, "repeats": 4},
    ]


def _made_call(chance: random.Random, ordinal: int, step: int) -> ToolCallRow:
    ran = chance.random() < 0.9
    return ToolCallRow(
        tenant="default",
        run_id="r",
        generation=7,
        ordinal=ordinal,
        step=step if ran else None,
        trace_id=None,
        span_id=None,
        asked_by=None,
        agent_name=chance.choice([None, "orla"]),
        tool_name=chance.choice(["search", "search", "send"]),
        tool_call_id=None,
        arguments=f"{{{ordinal}}}",
        result=None,
        result_source=None,
        arguments_hash=chance.choice([None, "x", "x", "x"]),
        result_hash=chance.choice([None, "y", "y", "y"]),
        effect=None,
        idempotency_key=None,
        attempt=None,
        started_at=None,
        duration_ms=None,
        status=chance.choice(["ok", "ok", "ok", "error", "unknown"]),
        error_type=None,
        error_message=None,
    )


def test_runs_of_an_older_release_get_the_rows_that_the_interpreter_writes(views: EmbeddedStore) -> None:
    chance = random.Random(3)
    made: dict[str, list[ToolCallRow]] = {}
    lines: list[str] = []
    for number in range(60):
        run_id = f"r{number}"
        steps = chance.sample(range(1, 200), 40)
        made[run_id] = [_made_call(chance, n, step) for n, step in enumerate(steps, start=1)]
        for call in made[run_id]:
            call.run_id = run_id
            lines.append(json.dumps(asdict(call)))
    views.insert("INSERT INTO canon_tool_calls", "\n".join(lines).encode(), "JSONEachRow")
    pointers = [json.dumps({"tenant": "default", "run_id": run_id, "generation": 7}) for run_id in made]
    views.insert("INSERT INTO canon_runs", "\n".join(pointers).encode(), "JSONEachRow")
    fill(views)
    fill(views)  # what is there is not doubled

    def stored(table: str) -> list[Any]:
        return sorted(views.rows(f"SELECT * FROM {table}"), key=str)

    def written(rows: list[Any]) -> list[Any]:
        return sorted((list(asdict(row).values()) for row in rows), key=str)

    loops = [
        loop
        for run_id, of_run in made.items()
        for loop in loop_rows({"tenant": "default", "run_id": run_id, "generation": 7}, of_run)
    ]
    assert len(loops) > 20
    assert stored("canon_loops") == written(loops)
    habits = [
        habit
        for run_id, of_run in made.items()
        for habit in habit_rows({"tenant": "default", "run_id": run_id, "generation": 7}, of_run)
    ]
    assert len(habits) == len(made)
    assert stored("canon_habits") == written(habits)
