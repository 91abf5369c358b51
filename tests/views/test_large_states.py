"""A state of thousands of keys, and one with long lists, is told key by key within little memory."""

from __future__ import annotations

import json

import pytest
from made_runs import RUN, act, agent, chat, rows, said

from retrospan.ingest.answer.rewriting.inlining import inlined
from retrospan.ingest.answer.rewriting.join_sides import keeping_sides
from retrospan.ingest.interpret.rows.lists import TABLES, Rows
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.ingest.warehouse.rows import insert_rows

KEYS = 10_000
MEMORY = 400_000_000  # bytes; a copy of all values for each key takes more


def told(store: EmbeddedStore, found: Rows) -> None:
    for name, table in TABLES.items():
        insert_rows(store, table, getattr(found, name))


def state(store: EmbeddedStore, step: int) -> dict[str, object]:
    """Ask as the SQL port does, with as much memory."""
    asked = f"SELECT key, value, changed_at_step, span_id FROM run_state(run_id = '{RUN}', step = {step}) ORDER BY key"
    settings = {"max_memory_usage": MEMORY, **keeping_sides(asked)}
    told = ", ".join(f"{name} = '{value}'" for name, value in settings.items())
    found = store.rows(f"{inlined(asked)} SETTINGS {told}")
    assert [row[0] for row in found] == sorted(str(row[0]) for row in found)
    return {str(row[0]): json.loads(str(row[1])) for row in found}


def test_a_state_of_thousands_of_keys(views: EmbeddedStore) -> None:
    """Whatever the engine saw of earlier queries: by that it would swap the sides of a join."""
    views.command("SET query_plan_join_swap_table = 'true'")
    first = {f"k{number:05}": {"n": number, "text": "x" * 40} for number in range(KEYS)}
    second = {**first, "k00007": None, "empty": [], "list": [1, [2]]}
    del second["k00008"]
    told(
        views,
        rows(
            agent(),
            act("", 1, retrospan__step__index=1, retrospan__state__before=json.dumps(first)),
            act("", 3, retrospan__step__index=2, retrospan__state__before=json.dumps(second)),
        ),
    )
    assert state(views, 1) == first
    assert state(views, 2) == second
    assert state(views, 3) == {}


@pytest.mark.parametrize("count", [1, 12])
def test_messages_stand_in_their_order(views: EmbeddedStore, count: int) -> None:
    asked = [said("user", f"message {number}") for number in range(count)]
    told(views, rows(agent(), chat(1, asked, "Yes."), chat(3, [*asked, said("assistant", "Yes.")], "No.")))
    assert [one["parts"][0]["content"] for one in state(views, 1)["messages"]] == [  # type: ignore[attr-defined]
        f"message {number}" for number in range(count)
    ]
    assert len(state(views, 0)["messages"]) == count + 2  # type: ignore[arg-type]
