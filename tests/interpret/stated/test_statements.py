"""How what agents state is read: a kind of value, what is refused, and which steps and times it belongs to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from made_runs import RUN, SECOND, act, agent, asks, chat, returned, said, tool
from spans import read_run

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Event, Span
from retrospan.ingest.interpret.stated.fields import Fields
from retrospan.ingest.interpret.stated.times import NotATime, read_rfc3339
from retrospan.ingest.rules.ruleset import NO_RULES, Ruleset

Reader = Callable[[Fields], object]


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (lambda f: f.text("x"), "a", "a"),
        (lambda f: f.text("x"), 7, "7"),
        (lambda f: f.text("x"), ["a"], '["a"]'),
        (lambda f: f.text("x"), "", None),
        (lambda f: f.choice("x", ("a", "b")), "b", "b"),
        (lambda f: f.choice("x", ("a", "b")), "", None),
        (lambda f: f.flag("x"), True, True),
        (lambda f: f.flag("x"), "true", True),
        (lambda f: f.flag("x"), "false", False),
        (lambda f: f.flag("x"), None, False),
        (lambda f: f.whole("x"), 7, 7),
        (lambda f: f.whole("x"), "-7", -7),
        (lambda f: f.whole("x"), 7.0, 7),
        (lambda f: f.whole("x"), "9" * 19, int("9" * 19)),
        (lambda f: f.whole("x"), "", None),
        (lambda f: f.count("x"), 0, 0),
        (lambda f: f.count("x"), (1 << 63) - 1, (1 << 63) - 1),
        (lambda f: f.share("x"), 0, 0.0),
        (lambda f: f.share("x"), "1", 1.0),
        (lambda f: f.share("x"), 0.5, 0.5),
        (lambda f: f.share("x"), "", None),
        (lambda f: f.time("x"), "1970-01-01T00:00:01.5Z", 1_500_000_000),
        (lambda f: f.time("x"), "", None),
        (lambda f: f.json_object("x"), '{"a": 1}', {"a": 1}),
        (lambda f: f.json_object("x"), {"a": 1}, {"a": 1}),
        (lambda f: f.json_object("x"), "", None),
        (lambda f: f.json_array("x"), "[1]", [1]),
        (lambda f: f.json_array("x"), [1], [1]),
    ],
)
def test_a_value_of_its_kind_is_read_without_a_problem(read: Reader, value: object, expected: object) -> None:
    problems = ParseIssues()
    assert read(Fields({"x": value}, "s", problems)) == expected
    assert read(Fields({}, "s", problems)) in (None, False)
    assert not problems.found


@pytest.mark.parametrize(
    ("read", "value", "reason"),
    [
        (lambda f: f.required("x", "e"), "", "missing in the event e"),
        (lambda f: f.choice("x", ("a", "b")), "c", "none of a, b"),
        (lambda f: f.choice("x", ("a", "b")), 1, "none of a, b"),
        (lambda f: f.flag("x"), "yes", "not a bool"),
        (lambda f: f.flag("x"), 1, "not a bool"),
        (lambda f: f.whole("x"), 7.5, "not a whole number"),
        (lambda f: f.whole("x"), True, "not a whole number"),
        (lambda f: f.whole("x"), "seven", "not a whole number"),
        (lambda f: f.whole("x"), "9" * 20, "not a whole number"),
        (lambda f: f.count("x"), -1, "not a number of at least 0"),
        (lambda f: f.count("x"), 1 << 63, "not a number of at least 0"),
        (lambda f: f.share("x"), 1.5, "not a number from 0 to 1"),
        (lambda f: f.share("x"), -0.1, "not a number from 0 to 1"),
        (lambda f: f.share("x"), True, "not a number from 0 to 1"),
        (lambda f: f.share("x"), "much", "not a number from 0 to 1"),
        (lambda f: f.json_object("x"), "[1]", "not a JSON object"),
        (lambda f: f.json_array("x"), '{"a": 1}', "not a JSON array"),
        (
            lambda f: f.time("x"),
            "1970-01-01T00:00:01",
            "has no zone: end it with Z or an offset such as +01:00",
        ),
        (
            lambda f: f.time("x"),
            "1969-12-31T23:59:59Z",
            "before 1970 or after 2262: kept as the nearest time within",
        ),
    ],
)
def test_a_value_of_another_kind_is_listed_as_a_problem(read: Reader, value: object, reason: str) -> None:
    problems = ParseIssues()
    assert read(Fields({"x": value}, "s", problems)) in (None, False, 0)
    assert [(each.span_id, each.field, each.reason) for each in problems.found] == [("s", "x", reason)]


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-02 00:00:00z", 86_400 * SECOND),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T00:00:00.0000000019Z", 1),
        ("1970-01-01T00:00:00.12Z", 120_000_000),
        ("1969-12-31T23:59:59Z", -SECOND),
    ],
)
def test_times_are_read_to_the_nanosecond(text: str, nanoseconds: int) -> None:
    found = read_rfc3339(text)
    assert (found.nanoseconds, found.kept) == (nanoseconds, max(nanoseconds, 0))


def test_a_time_after_the_last_that_tables_hold_is_the_last() -> None:
    assert read_rfc3339("2300-01-01T00:00:00Z").kept == 2**63 - 1


@pytest.mark.parametrize(
    "text", ["2026-02-30T00:00:00Z", "2026-01-01", "soon", 7, None, "2026-01-01T00:00:00Z!"]
)
def test_what_is_not_a_time_is_refused(text: object) -> None:
    with pytest.raises(NotATime):
        read_rfc3339(text)


def rows(*spans: Span, rules: Ruleset = NO_RULES) -> Rows:
    return rows_of(read_run(RUN, spans, rules=rules), "default", 1, None)


def event(name: str, at: float, **attributes: object) -> Event:
    own = {f"retrospan.{key.replace('__', '.')}": value for key, value in attributes.items()}
    return Event(name=f"retrospan.{name}", time_ns=int((1_000 + at) * SECOND), attributes=own)


def observed(at: float, changes: object, **more: object) -> Event:
    told = {"entity__type": "order", "entity__id": "7", "changes": json.dumps(changes), **more}
    return event("observation", at, **told)


def telling(span: Span, *events: Event) -> Span:
    span.events = [*events]
    return span


@pytest.mark.parametrize(
    ("more", "priority"),
    [
        ({}, 0),
        ({"priority": 5}, 5),
        ({"priority": -5}, -5),
        ({"priority": 5_000}, 999),
        ({"priority": -5_000}, -999),
        ({"priority": 5, "correction": True}, 1000),
    ],
)
def test_a_producer_s_priority_stays_below_that_of_a_correction(more: dict[str, Any], priority: int) -> None:
    found = rows(agent(), telling(tool(1), observed(1.5, {"x": 1}, **more)))
    assert [(row.priority, row.correction) for row in found.observations] == [(priority, priority == 1000)]


def test_an_observation_holds_from_when_it_says_else_from_when_it_was_said() -> None:
    found = rows(
        agent(),
        telling(
            tool(1),
            observed(1.5, {"x": 1, "y": None}),
            observed(1.7, {"z": 1}, valid_from="1970-01-01T00:00:09Z"),
        ),
    )
    assert [
        (row.field, row.op, row.value, row.valid_from - 1_000 * SECOND, row.step)
        for row in found.observations
    ] == [
        ("x", "set", "1", 1_500_000_000, 1),
        ("y", "clear", None, 1_500_000_000, 1),
        ("z", "set", "1", -991 * SECOND, 1),
    ]


@pytest.mark.parametrize(
    ("events", "kept", "problems"),
    [
        ([observed(1, {}, observation__id="o")], 0, 1),
        ([event("observation", 1, entity__type="order", entity__id="7")], 0, 1),
        ([event("observation", 1, entity__type="order", changes='{"x": 1}')], 0, 1),
        ([observed(1, {"x": 1}, observation__id="o")] * 2, 1, 0),
        ([observed(1, {"x": 1}, observation__id="o"), observed(1, {"x": 2}, observation__id="o")], 1, 1),
        ([observed(1, {"x": 1}, observation__id="o"), observed(2, {"x": 1}, observation__id="o")], 1, 1),
        ([observed(1, {"x": 1}, observation__id="o"), observed(1, {"y": 2}, observation__id="o")], 2, 0),
        ([observed(1, {"x": 1}), observed(1, {"x": 1})], 2, 0),
    ],
    ids=[
        "nothing",
        "no changes",
        "no id",
        "again",
        "other value",
        "other time",
        "other field",
        "no id of its own",
    ],
)
def test_an_observation_counts_once_and_what_is_not_whole_is_a_problem(
    events: list[Event], kept: int, problems: int
) -> None:
    found = rows(agent(), telling(tool(1), *events))
    assert (len(found.observations), len(found.problems)) == (kept, problems)


RULES = Ruleset.parse(
    """
[[rule]]
name = "records"
tool = "update"
entity = "record"
id = "arguments.id"
field = "arguments.field"
before = "result.before"
after = "result.after"
""",
    "rules.toml",
)
GIVEN, GAVE = {"id": "7", "field": "status"}, {"before": "old", "after": "new"}


def observations(*spans: Span) -> list[tuple[str | None, float]]:
    """Value and, in seconds after the agent began, since when it holds; in the order of time."""
    found = rows(agent(), *spans, rules=RULES).observations
    return sorted(((row.value, row.valid_from - 1_000 * SECOND) for row in found), key=lambda each: each[1])


def test_a_rule_s_value_before_holds_from_the_start_of_the_call_and_the_one_after_from_its_end() -> None:
    assert observations(tool(3, "update", GIVEN, GAVE, takes=2)) == [
        ('"old"', 3 * SECOND),
        ('"new"', 5 * SECOND),
    ]
    # Before what it became, also where the call took no time.
    assert observations(tool(3, "update", GIVEN, GAVE, takes=0)) == [
        ('"old"', 3 * SECOND - 1),
        ('"new"', 3 * SECOND),
    ]
    # A call that never ended counts where it began.
    assert rows(agent(), tool(3, "update", GIVEN, GAVE, error="Boom"), rules=RULES).observations == []


def test_a_call_without_a_span_counts_from_the_end_of_the_answer_that_asked_for_it() -> None:
    call = asks("update", GIVEN, "c1")
    asking = chat(1, [said("user", "Hi")], call, takes=2)
    later = chat(5, [said("user", "Hi"), said("assistant", call), returned("c1", GAVE)], "Done.")
    assert observations(asking, later) == [('"old"', 3 * SECOND - 1), ('"new"', 3 * SECOND)]


def test_a_compaction_belongs_to_the_agent_s_next_model_call() -> None:
    def first_after(at: float, **more: Any) -> int:
        around = telling(
            act("invoke_agent", 2, takes=50, gen_ai__agent__name="orla"), event("compaction", at, **more)
        )
        calls = [
            chat(n, [said("user", "Hi")], "Done.", gen_ai__agent__name=name)
            for n, name in ((3, "orla"), (5, "pim"), (7, "orla"))
        ]
        (row,) = rows(agent(), around, *calls).compactions
        return row.model_call

    assert [first_after(at) for at in (2.5, 3, 4, 7.5)] == [1, 1, 3, 0]


@pytest.mark.parametrize(
    ("outer", "inner", "told"),
    [
        ({"effect": "write"}, {"effect": "write"}, ["inner"]),
        (
            {"effect": "write", "idempotency__key": "k"},
            {"effect": "write", "idempotency__key": "k"},
            ["inner"],
        ),
        (
            {"effect": "write", "idempotency__key": "k"},
            {"effect": "write", "idempotency__key": "j"},
            ["outer", "inner"],
        ),
        ({"effect": "write"}, {}, ["outer"]),
    ],
)
def test_of_one_effect_told_twice_the_inner_span_counts(
    outer: dict[str, str], inner: dict[str, str], told: list[str]
) -> None:
    def own(words: dict[str, str]) -> dict[str, str]:
        return {f"retrospan__{key}": value for key, value in words.items()}

    around = act("", 1, takes=5, span_id="e" * 16, **own(outer))
    inside = tool(2, inside="e" * 16, span_id="d" * 16, **own(inner))
    names = {"e" * 16: "outer", "d" * 16: "inner"}
    assert [names[row.span_id] for row in rows(agent(), around, inside).effects] == told
