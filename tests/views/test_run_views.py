"""Runs, calls, messages, steps and states: what canonical rows look like to a reader."""

from __future__ import annotations

import json
import time
from typing import Any

from story import SECOND, Ask, Story, calls, gives, text

from retrospan.ingest.interpret.rows.placeholders import deleted_run
from retrospan.ingest.interpret.service.dispatch import write_rows
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas import attributes, semconv
from retrospan.schemas.hashing import hash_of


def _asking(run_id: str, **run: Any) -> Story:
    """Asks, searches, answers."""
    story = Story(run_id, **run)
    story.hear(text("user", "where is it?"))
    story.model(calls("search", q="it"))
    story.tool("search", {"q": "it"}, ["here"])
    story.model(text("assistant", "here"))
    return story


def test_only_the_newest_generation_is_seen(views: EmbeddedStore, ask: Ask) -> None:
    _asking("r", generation=1).tell(views)
    shorter = Story("r", generation=2)
    shorter.hear(text("user", "where is it?"))
    shorter.model(text("assistant", "no idea"))
    shorter.tell(views)
    counts = {
        name: ask(f"SELECT count() AS n FROM {name}")[0]["n"]
        for name in ("runs", "model_calls", "tool_calls", "messages", "steps", "provenance_edges")
    }
    assert counts == {
        "runs": 1,
        "model_calls": 1,
        "tool_calls": 0,
        "messages": 2,
        "steps": 1,
        "provenance_edges": 2,
    }


def test_rows_without_their_pointer_are_not_seen_yet(views: EmbeddedStore, ask: Ask) -> None:
    _asking("r", generation=1).tell(views)
    rows = _asking("r", generation=2).rows()
    rows.runs = []
    write_rows(views, rows)
    assert ask("SELECT count() AS n FROM model_calls") == [{"n": 2}]


def test_a_deleted_run_is_nowhere(views: EmbeddedStore, ask: Ask) -> None:
    _asking("r").tell(views)
    write_rows(views, deleted_run("default", "r", 2))
    for name in ("runs", "model_calls", "tool_calls", "messages", "steps", "provenance_edges", "loops"):
        assert ask(f"SELECT count() AS n FROM {name}") == [{"n": 0}], name
    assert ask("SELECT 1 AS n FROM run_state(run_id = 'r', step = 1)") == []
    assert ask("SELECT 1 AS n FROM provenance(ref = 'run:r', depth = 3, direction = 'up')") == []
    assert ask("SELECT 1 AS n FROM run_divergence(a = 'r', b = 'r')") == []


def test_a_fresh_incomplete_run_is_running_and_an_old_one_incomplete(views: EmbeddedStore, ask: Ask) -> None:
    now = time.time_ns()
    ends = {"fresh": now - 60 * SECOND, "old": now - 600 * SECOND, "wild": now + 10 * 86_400 * SECOND}
    ends["ahead"] = now + 3 * 3600 * SECOND  # by the clock of its machine; it arrived ten minutes ago
    for run_id, ended in {**ends, "ok": now, "failed": now}.items():
        story = Story(run_id, started_at=ended - 3 * SECOND // 2)
        story.model(text("assistant", "done"))
        story.has_root = run_id not in ends
        story.root.status = "error" if run_id == "failed" else "unset"
        if run_id == "ahead":
            story.acts[-1].arrived_at = ends["old"]
        story.tell(views)
    found = {row["run_id"]: row["outcome"] for row in ask("SELECT run_id, outcome FROM runs")}
    assert found == {
        "fresh": "running",
        "old": "incomplete",
        "wild": "incomplete",
        "ahead": "incomplete",
        "ok": "ok",
        "failed": "error",
    }


def test_a_model_call_gives_back_the_whole_request_and_answer(views: EmbeddedStore, ask: Ask) -> None:
    _asking("r").tell(views)
    _asking("other").tell(views)
    (row,) = ask(
        "SELECT system_instructions, input_messages, output_messages, tool_definitions "
        "FROM model_calls WHERE run_id = 'r' AND ordinal = 2"
    )
    assert json.loads(row["system_instructions"]) == [{"type": "text", "content": "be brief"}]
    assert json.loads(row["input_messages"]) == [
        text("user", "where is it?"),
        calls("search", q="it"),
        gives(["here"]),
    ]
    assert json.loads(row["output_messages"]) == [text("assistant", "here")]
    assert row["tool_definitions"] is None


def test_messages_that_are_not_known_are_null(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    story.model(None, system="", more={semconv.INPUT_MESSAGES: None})
    story.hear(text("user", "x"))
    story.model(None)
    story.tell(views)
    found = ask(
        "SELECT input_messages, output_messages, system_instructions FROM model_calls ORDER BY ordinal"
    )
    assert [row["input_messages"] for row in found] == [
        None,
        json.dumps([text("user", "x")], separators=(",", ":")),
    ]
    assert [row["output_messages"] for row in found] == [None, None]
    assert found[0]["system_instructions"] is None


def test_a_value_made_of_others_is_put_together(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    story.model(
        text("assistant", "x"),
        system="",
        more={semconv.TOOL_DEFINITIONS: [{"name": "search"}, {"name": "send"}]},
    )
    story.tell(views)
    (row,) = ask("SELECT tool_definitions, system_instructions FROM model_calls")
    assert json.loads(row["tool_definitions"]) == [{"name": "search"}, {"name": "send"}]
    assert row["system_instructions"] is None


def test_messages_are_expanded_in_place_and_new_only_once(views: EmbeddedStore, ask: Ask) -> None:
    _asking("r").tell(views)
    found = ask(
        "SELECT model_call, direction, position, role, new_in_call, message_hash, content FROM messages "
        "WHERE run_id = 'r' ORDER BY model_call, direction, position"
    )
    assert [(r["model_call"], r["direction"], r["position"], r["role"], r["new_in_call"]) for r in found] == [
        (1, "input", 1, "user", True),
        (1, "output", 1, "assistant", True),
        (2, "input", 1, "user", False),
        (2, "input", 2, "assistant", False),
        (2, "input", 3, "tool", True),
        (2, "output", 1, "assistant", True),
    ]
    assert json.loads(found[4]["content"]) == gives(["here"])
    assert found[4]["message_hash"] == hash_of(gives(["here"]))


def test_a_call_without_an_execution_is_listed_without_step(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    story.model(calls("send", to="x"))
    story.model(text("assistant", "I could not."))
    story.tell(views)
    assert ask("SELECT tool_name, step, asked_by, status, started_at FROM tool_calls") == [
        {"tool_name": "send", "step": None, "asked_by": 1, "status": "unknown", "started_at": None}
    ]


def test_steps_name_their_calls_and_hold_the_state_where_known(views: EmbeddedStore, ask: Ask) -> None:
    story = _asking("r")
    known: dict[str, Any] = {"city": "Oslo/Bergen", 'odd "key"': None}
    story.state(2, **known)
    story.tell(views)
    found = ask(
        "SELECT step, step_kind, model_call, tool_call, state_source, state_before, state_after "
        "FROM steps WHERE run_id = 'r' ORDER BY step"
    )
    assert [(r["step"], r["step_kind"], r["model_call"], r["tool_call"]) for r in found] == [
        (1, "model", 1, None),
        (2, "tool", None, 1),
        (3, "model", 2, None),
    ]
    assert json.loads(found[1]["state_before"]) == {"city": "Oslo/Bergen", 'odd "key"': None}
    assert "\\/" not in found[1]["state_before"]
    assert (found[0]["state_before"], found[1]["state_after"]) == (None, None)


def test_run_state_is_what_the_run_knew_as_the_step_began(views: EmbeddedStore, ask: Ask) -> None:
    story = _asking("r")
    other = _asking("s")
    for told in (story, other):
        told.state(1, city="Oslo")
        told.state(2, city="Bergen", temp=3)
        told.state(3, city="Bergen")
    other.state(2, city="Bergen", temp=3, secret=1)
    story.state_after(3, city="Voss")
    story.tell(views)
    other.tell(views)

    def state(step: int) -> dict[str, tuple[object, int]]:
        rows = ask(
            "SELECT key, value, changed_at_step FROM run_state(run_id = 'r', step = {step:UInt32})", step=step
        )
        return {row["key"]: (json.loads(row["value"]), row["changed_at_step"]) for row in rows}

    assert state(1) == {"city": ("Oslo", 0)}
    assert state(2) == {"city": ("Bergen", 1), "temp": (3, 1)}
    assert state(3) == {"city": ("Bergen", 1)}
    assert state(0) == {"city": ("Voss", 3)}
    assert state(9) == {}
    assert ask("SELECT key FROM run_state(run_id = 's', step = 0)") == []  # not known after the last step


def test_problems_are_listed_with_their_run(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    story.model(text("assistant", "x"), more={attributes.STATE_BEFORE: '{"city":'})
    story.tell(views)
    assert ask("SELECT run_id, span_id, field, raw, reason FROM interpretation_problems") == [
        {
            "run_id": "r",
            "span_id": f"{1:016x}",
            "field": attributes.STATE_BEFORE,
            "raw": '{"city":',
            "reason": "not JSON: Expecting value: line 1 column 9 (char 8)",
        }
    ]
    assert ask("SELECT problems FROM runs") == [{"problems": 1}]


def test_what_left_the_context_is_named_and_can_be_read(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    story.hear(text("user", "one"), text("user", "two"))
    story.model(None)
    story.history = [text("user", "two"), text("user", "three")]
    story.model(None, more={attributes.CONTEXT_LIMIT: 8000})
    story.model(None, more={semconv.INPUT_MESSAGES: None})
    story.tell(views)
    columns = "model_call, goes_on, context_limit, messages_in, messages_new, messages_lost, lost_how"
    assert [list(row.values()) for row in ask(f"SELECT {columns} FROM context_use ORDER BY model_call")] == [
        [1, None, None, 2, 2, 0, None],
        [2, 1, 8000, 2, 1, 1, "dropped"],
        [3, None, None, None, None, None, None],
    ]
    assert ask(
        "SELECT DISTINCT m.content AS content FROM context_use AS c "
        "INNER JOIN messages AS m ON m.run_id = c.run_id AND m.model_call = c.goes_on "
        "WHERE c.run_id = 'r' AND has(c.lost_messages, m.message_hash)"
    ) == [{"content": json.dumps(text("user", "one"), separators=(",", ":"))}]


def test_failures_and_tries_of_an_older_reading_are_not_seen(views: EmbeddedStore, ask: Ask) -> None:
    for generation, message in ((1, "old"), (2, "new")):
        story = Story("r", generation=generation)
        story.model(calls("send", to="b"))
        for _ in range(generation):
            story.tool("send", {"to": "b"}, None, error=f"Timeout: {message}")
        story.tool("send", {"to": "b"}, "sent", more={attributes.BACKOFF_MS: 50})
        story.tell(views)
    assert ask("SELECT step, class, error_message, handled FROM failures ORDER BY step") == [
        {"step": 2, "class": "transient", "error_message": "new", "handled": True},
        {"step": 3, "class": "transient", "error_message": "new", "handled": True},
    ]
    assert ask("SELECT attempt, of_step, backoff_ms, error_type FROM retries ORDER BY attempt") == [
        {"attempt": 1, "of_step": 2, "backoff_ms": None, "error_type": "Timeout"},
        {"attempt": 2, "of_step": 2, "backoff_ms": None, "error_type": "Timeout"},
        {"attempt": 3, "of_step": 2, "backoff_ms": 50, "error_type": None},
    ]
