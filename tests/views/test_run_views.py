"""Runs, calls, messages, steps and states: what canonical rows look like to a reader."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

from story import SECOND, Ask, Story, calls, gives, hash_of, text, write

from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas import canonical


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
    write(views, _asking("r", generation=2).rows()[:-1])
    assert ask("SELECT count() AS n FROM model_calls") == [{"n": 2}]


def test_a_deleted_run_is_nowhere(views: EmbeddedStore, ask: Ask) -> None:
    story = _asking("r").tell(views)
    write(views, [replace(story.run_row(), generation=2, deleted=True)])
    for name in ("runs", "model_calls", "tool_calls", "messages", "steps", "provenance_edges", "loops"):
        assert ask(f"SELECT count() AS n FROM {name}") == [{"n": 0}], name
    assert ask("SELECT 1 AS n FROM run_state(run_id = 'r', step = 1)") == []
    assert ask("SELECT 1 AS n FROM provenance(ref = 'run:r', depth = 3, direction = 'up')") == []
    assert ask("SELECT 1 AS n FROM run_divergence(a = 'r', b = 'r')") == []


def test_a_fresh_incomplete_run_is_running_and_an_old_one_incomplete(views: EmbeddedStore, ask: Ask) -> None:
    now = time.time_ns()
    ends = {"fresh": now - 60 * SECOND, "old": now - 600 * SECOND, "wild": now + 10 * 86_400 * SECOND}
    for run_id, ended in ends.items():
        Story(run_id, outcome="incomplete", incomplete_because="no_root", newest_ended_at=ended).tell(views)
    Story("ok", outcome="ok", newest_ended_at=now).tell(views)
    Story("failed", outcome="error", newest_ended_at=now).tell(views)
    found = {row["run_id"]: row["outcome"] for row in ask("SELECT run_id, outcome FROM runs")}
    assert found == {
        "fresh": "running",
        "old": "incomplete",
        "wild": "incomplete",
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


def test_unknown_messages_are_null_and_no_messages_are_an_empty_list(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    story.model(None, history="none", system="")
    story.model(None, history="full")
    story.tell(views)
    found = ask(
        "SELECT input_messages, output_messages, system_instructions FROM model_calls ORDER BY ordinal"
    )
    assert [row["input_messages"] for row in found] == [None, "[]"]
    assert [row["output_messages"] for row in found] == [None, None]
    assert found[0]["system_instructions"] is None


def test_a_value_made_of_others_is_put_together(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    first, second = story.value({"name": "search"}), story.value({"name": "send"})
    both = story.value(["search", "send"], "list", [first, second])
    none = story.value([], "list")
    story.model(text("assistant", "x"), tools_value=both, system_value=none)
    story.tell(views)
    (row,) = ask("SELECT tool_definitions, system_instructions FROM model_calls")
    assert json.loads(row["tool_definitions"]) == [{"name": "search"}, {"name": "send"}]
    assert row["system_instructions"] == "[]"


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


def test_a_call_that_never_ran_is_listed_without_step(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    story.model(calls("send", to="x"))
    story.tool("send", {"to": "x"}, None, status="not_executed", heard=False)
    story.tell(views)
    assert ask("SELECT tool_name, step, asked_by, status, started_at FROM tool_calls") == [
        {"tool_name": "send", "step": None, "asked_by": 1, "status": "not_executed", "started_at": None}
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
        for step in (1, 2, 3):
            told.state(step, any="thing")
        told.change(1, "city", "Oslo", changed_at=0)
        told.change(2, "city", "Bergen", changed_at=1)
        told.change(2, "temp", 3, changed_at=1)
        told.change(3, "temp", None, changed_at=2)
        told.change(4, "city", "Voss", changed_at=3)
    other.change(2, "secret", 1, changed_at=1)
    story.steps[-1] = replace(story.steps[-1], state_after_hash="known")
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
    story.problems.append(
        canonical.ProblemRow(**story.key, span_id=None, field="run", raw="Traceback …", reason="KeyError")
    )
    story.tell(views)
    assert ask("SELECT run_id, span_id, field, reason FROM interpretation_problems") == [
        {"run_id": "r", "span_id": None, "field": "run", "reason": "KeyError"}
    ]
    assert ask("SELECT problems FROM runs") == [{"problems": 1}]


def test_what_left_the_context_is_named_and_can_be_read(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    story.hear(text("user", "one"), text("user", "two"))
    story.model(None)
    story.history = [text("user", "two"), text("user", "three")]
    gone = hash_of(text("user", "one"))
    story.model(
        None,
        goes_on=1,
        messages_new=1,
        messages_lost=1,
        lost_hashes=[gone],
        lost_how="dropped",
        context_limit=8000,
    )
    story.model(None, history="none", input_values=[])
    story.tell(views)
    columns = "model_call, goes_on, context_limit, messages_in, messages_new, messages_lost, lost_how"
    assert [list(row.values()) for row in ask(f"SELECT {columns} FROM context_use ORDER BY model_call")] == [
        [1, None, None, 2, None, None, None],
        [2, 1, 8000, 2, 1, 1, "dropped"],
        [3, None, None, None, None, None, None],
    ]
    assert ask(
        "SELECT DISTINCT m.content AS content FROM context_use AS c "
        "INNER JOIN messages AS m ON m.run_id = c.run_id AND m.model_call = c.goes_on "
        "WHERE c.run_id = 'r' AND has(c.lost_messages, m.message_hash)"
    ) == [{"content": json.dumps(text("user", "one"))}]


def test_failures_and_tries_of_an_older_reading_are_not_seen(views: EmbeddedStore, ask: Ask) -> None:
    for generation, message in ((1, "old"), (2, "new")):
        story = Story("r", generation=generation)
        story.model(None)
        failure = canonical.FailureRow(
            **story.key,
            step=1,
            trace_id="r",
            span_id="s",
            origin="reasoning",
            error_class=None,
            error_type=None,
            error_message=message,
            handled=False,
            at=story.started_at,
        )
        attempt = canonical.AttemptRow(
            **story.key,
            step=1,
            tool_name=None,
            attempt=generation,
            of_step=None,
            backoff_ms=50,
            error_type="E",
            status="error",
        )
        write(views, [*story.rows(), failure, attempt])
    assert ask("SELECT step, class, error_message, handled FROM failures") == [
        {"step": 1, "class": None, "error_message": "new", "handled": False}
    ]
    assert ask("SELECT attempt, of_step, backoff_ms, error_type FROM retries") == [
        {"attempt": 2, "of_step": None, "backoff_ms": 50, "error_type": "E"}
    ]
