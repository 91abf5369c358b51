"""What agents state, read by pure functions: the same in any order, and a problem where it cannot be read."""

from __future__ import annotations

import json
import random
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spans import read_run

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.span import Event, Span
from retrospan.ingest.interpret.stated.times import NotATime, read_rfc3339

WORDS = st.text(st.characters(codec="utf-8"), max_size=4)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
EVENTS = {
    "retrospan.observation": (
        *("entity.type", "entity.id", "changes", "observation.id", "valid_from", "source"),
        *("confidence", "priority", "correction", "reason"),
    ),
    "retrospan.use": ("entity.type", "entity.id", "field", "observation.id"),
    "retrospan.decision": (
        *("decision.name", "decision.options", "decision.chosen", "decision.rationale"),
        "decision.confidence",
    ),
    "retrospan.checkpoint": ("checkpoint.id", "checkpoint.trigger", "checkpoint.parent"),
    "retrospan.derivation": ("relation", "subject", "object", "role"),
    "retrospan.compaction": ("compaction.type", "compaction.tokens_before", "compaction.tokens_after"),
    "retrospan.approval": ("approval.decision", "approval.approver", "approval.explanation"),
    "retrospan.unheard_of": (),
}
ATTRIBUTES = (
    *("effect", "effect.status", "idempotency.key", "compensates", "attempt", "state.before"),
    *("state.after", "state.patch", "state.schema", "context.tokens", "output.id"),
)


def span(number: int, parent: int, at: int, events: list[Event], **attributes: object) -> Span:
    return Span(
        trace_id="a" * 32,
        span_id=f"{number:016x}",
        parent_span_id=f"{parent:016x}" if parent else "",
        name=f"span {number}",
        kind=1,
        flags=0,
        started_at=at,
        ended_at=at + 5,
        status="ok",
        status_message="",
        scope="",
        scope_version="",
        attributes={key.replace("__", "."): value for key, value in attributes.items()},
        resource={},
        events=events,
        arrived_at=at + 7,
    )


def tool(number: int, at: int, **attributes: object) -> Span:
    called = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "send",
        "gen_ai.tool.call.result": "1",
    }
    return span(number, 1, at, [], **{**called, **attributes})


def told(*spans: Span) -> Rows:
    return rows_of(read_run("r", spans), "default", 1, None)


def event(name: str, **attributes: object) -> Event:
    said = {f"retrospan.{key.replace('__', '.')}": value for key, value in attributes.items()}
    return Event(name=f"retrospan.{name}", time_ns=12, attributes=said)


@st.composite
def anything(draw: st.DrawFn) -> list[Span]:
    """A few spans with events and attributes of the conventions, whose values are what they should be, or anything."""
    good: dict[str, Any] = {
        "changes": '{"x": 1, "y": null}',
        "valid_from": "2026-11-20T14:32:00.5+01:00",
        "relation": "used",
        "subject": "output:a",
        "object": "document:b",
        "state.before": '{"a": 1}',
        "state.patch": '[{"op": "add", "path": "/b", "value": 2}]',
    }
    spans = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        said = {}
        for key in draw(st.lists(st.sampled_from(ATTRIBUTES), max_size=4)):
            said[f"retrospan.{key}"] = draw(st.just(good.get(key, "write")) | JSONS | WORDS)
        events = []
        for name in draw(st.lists(st.sampled_from(sorted(EVENTS)), max_size=4)):
            given_ = {
                f"retrospan.{key}": draw(st.just(good.get(key, "1")) | JSONS | JSONS.map(json.dumps) | WORDS)
                for key in EVENTS[name]
                if draw(st.integers(0, 5))
            }
            events.append(Event(name=name, time_ns=draw(st.integers(0, 50)), attributes=given_))
        parent = draw(st.integers(0, number - 1))
        one = tool if draw(st.booleans()) else None
        made = one(number, number * 10, **said) if one else span(number, parent, number * 10, events, **said)
        spans.append(replace(made, events=events))
    return spans


@settings(max_examples=60, deadline=None, database=None)
@given(spans=anything(), seed=st.integers(0, 2**32))
def test_any_statements_give_the_same_rows_in_any_order(spans: list[Span], seed: int) -> None:
    expected = told(*spans)
    shuffled = [*spans, *spans[: len(spans) // 2]]
    random.Random(seed).shuffle(shuffled)
    assert told(*shuffled) == expected
    for row in expected.observations:
        assert row.value is None or json.loads(row.value) is not None
        assert (row.op == "clear") == (row.value is None) and row.priority <= 1000


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("2026-11-20T14:32:00Z", 1795185120000),
        ("2026-11-20t14:32:00.25z", 1795185120250),
        ("2026-11-20 15:32:00+01:00", 1795185120000),
        ("1969-12-31T23:59:59Z", -1000),
    ],
)
def test_rfc_3339(text: str, milliseconds: int) -> None:
    assert read_rfc3339(text).nanoseconds == milliseconds * 1_000_000


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-11-20", "2026-11-20T14:32:00", "2026-02-30T00:00:00Z", "2026-11-20T25:00:00Z", 7],
)
def test_no_rfc_3339(text: object) -> None:
    with pytest.raises(NotATime):
        read_rfc3339(text)


def test_a_time_that_cannot_be_kept_is_the_nearest_one_and_a_problem() -> None:
    said = event(
        "observation", entity__type="a", entity__id="b", changes='{"x":1}', valid_from="1950-01-01T00:00:00Z"
    )
    rows = told(span(1, 0, 10, [said]))
    assert rows.observations[0].valid_from == 0
    assert [problem.field for problem in rows.problems] == ["retrospan.valid_from"]


def test_an_id_follows_from_the_place_of_the_event() -> None:
    events = [event("observation", entity__type="a", entity__id="b", changes='{"x":1,"y":2}')] * 2
    first, second, third, fourth = told(span(1, 0, 10, events)).observations
    assert first.observation_id == second.observation_id != third.observation_id == fourth.observation_id
    assert {first.field, second.field} == {"x", "y"}


def test_an_id_said_again_counts_once_and_with_other_content_is_a_problem() -> None:
    same = event("observation", entity__type="a", entity__id="b", changes='{"x":1}', observation__id="o")
    other = event("observation", entity__type="a", entity__id="b", changes='{"x":2}', observation__id="o")
    late, early = replace(span(2, 1, 20, [same]), arrived_at=5), span(1, 0, 10, [same])
    rows = told(early, late, span(3, 1, 30, [other]))
    assert [(row.value, row.known_from) for row in rows.observations] == [("1", 5)]
    (problem,) = rows.problems
    assert problem.field == "retrospan.observation.id" and "x = 2 is left out" in problem.reason


def test_a_statement_belongs_to_the_step_around_it_or_the_last_inside() -> None:
    said = event("decision", decision__name="d", decision__chosen="c")
    root = span(1, 0, 0, [said, replace(said, time_ns=25), replace(said, time_ns=45)])
    rows = told(root, tool(2, 20), replace(tool(3, 40), events=[said]))
    assert [row.step for row in rows.decisions] == [None, 1, 2, 2]
    task = replace(root, attributes={"retrospan.step.index": 1})
    assert [row.step for row in told(task, tool(2, 20)).decisions] == [1, 1, 1]


def test_effects_say_what_follows_from_the_span_alone() -> None:
    write = {"retrospan.effect": "write", "retrospan.idempotency.key": "k"}
    rows = told(
        span(1, 0, 0, []),
        tool(2, 10, **write),
        replace(tool(3, 20, **write), status="error"),
        replace(tool(4, 30, **write), ended_at=0),
        tool(5, 40, **write, **{"retrospan.effect.status": "skipped"}),
        tool(6, 50, **{"retrospan.compensates": "000000000000000A"}),
        tool(7, 60, **{"retrospan.compensates": "charge"}),
        tool(8, 70),
    )
    assert [row.effect_status for row in rows.effects] == [
        *("executed", "unknown", "unknown", "skipped", "executed", "executed"),
    ]
    assert [row.compensates for row in rows.effects][4:] == ["000000000000000a", None]
    assert [row.tool_call for row in rows.effects] == [1, 2, 3, 4, 5, 6]
    assert [problem.field for problem in rows.problems] == ["retrospan.compensates"]


def test_what_was_planned_may_have_been_executed_where_its_call_failed() -> None:
    planned = {"retrospan.effect": "write", "retrospan.effect.status": "planned"}
    rows = told(
        span(1, 0, 0, []),
        tool(2, 10, **planned),
        replace(tool(3, 20, **planned), status="error"),
        replace(tool(4, 30, **{**planned, "retrospan.effect.status": "failed"}), status="error"),
    )
    assert [row.effect_status for row in rows.effects] == ["planned", "unknown", "failed"]


def test_a_span_and_one_inside_that_tell_of_one_effect_are_one() -> None:
    write = {"retrospan.effect": "write", "retrospan.idempotency.key": "k"}
    inside = span(3, 2, 11, [], **write)
    rows = told(span(1, 0, 0, []), tool(2, 10, **write), inside)
    assert [(row.span_id, row.tool_name, row.step) for row in rows.effects] == [(f"{3:016x}", "send", 1)]


def test_spans_that_only_state_are_a_run_and_others_are_none() -> None:
    from retrospan.ingest.interpret.grouping.grouping import is_run
    from retrospan.ingest.interpret.run import read_spans
    from retrospan.ingest.interpret.spans.parse_issues import ParseIssues

    said = event("observation", entity__type="a", entity__id="b", changes='{"x":1}')
    assert is_run(read_spans([span(1, 0, 0, [said])], ParseIssues()))
    assert is_run(read_spans([span(1, 0, 0, [], **{"retrospan.effect": "read"})], ParseIssues()))
    assert not is_run(
        read_spans([span(1, 0, 0, [Event(name="exception", time_ns=1, attributes={})])], ParseIssues())
    )


def test_a_compaction_belongs_to_the_next_call_of_the_agent() -> None:
    chat = {"gen_ai.operation.name": "chat", "gen_ai.agent.name": "orla", "retrospan.context.tokens": 900}
    said = event(
        "compaction", compaction__type="summary", compaction__tokens_before=900, compaction__tokens_after="90"
    )
    rows = told(
        span(1, 0, 0, [said], **{"gen_ai.agent.name": "orla"}),
        span(2, 1, 5, [], **chat),
        span(3, 1, 20, [], **chat),
    )
    (row,) = rows.compactions
    assert (row.model_call, row.kind, row.tokens_before, row.tokens_after) == (2, "summary", 900, 90)
    assert [call.context_tokens for call in rows.model_calls] == [900, 900]


def test_every_list_of_rows_has_been_thought_of() -> None:
    assert {field.name for field in fields(Rows)} >= {
        "observations",
        "uses",
        "decisions",
        "effects",
        "checkpoints",
    }
