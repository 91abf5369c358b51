"""Evaluations, exceptions, compactions and messages: equal rows as span event, as log record and as both, in any order
and however often each is sent."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spans import read_run

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.span import Event, LogRecord, Span
from retrospan.ingest.interpret.stated.compactions import COMPACTIONS

TRACE = "a" * 32
DETAILS = "gen_ai.client.inference.operation.details"
FORMS = ("event", "log", "both")

TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.lists(TEXTS, max_size=2)
EVALUATIONS = st.fixed_dictionaries(
    {},
    optional={
        "gen_ai.evaluation.name": st.sampled_from(["Relevance", "tone"]) | ANYTHING,
        "gen_ai.evaluation.score.value": st.floats() | ANYTHING,
        "gen_ai.evaluation.score.label": st.sampled_from(["pass", "fail"]) | ANYTHING,
        "gen_ai.evaluation.explanation": TEXTS | ANYTHING,
        "gen_ai.response.id": st.sampled_from(["resp-2", "resp-3", "of another run"]) | ANYTHING,
    },
)
OF_EXCEPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "exception.type": st.sampled_from(["TimeoutError", "GraphInterrupt"]) | ANYTHING,
        "exception.message": TEXTS | ANYTHING,
    },
)
FACTS = st.one_of(
    st.tuples(st.just("gen_ai.evaluation.result"), EVALUATIONS),
    st.tuples(st.sampled_from(["exception", "gen_ai.client.operation.exception"]), OF_EXCEPTIONS),
    st.tuples(
        st.sampled_from([DETAILS, "gen_ai.conversation.compacted"]),
        st.fixed_dictionaries({}, optional={"gen_ai.conversation.compacted": st.just(True) | ANYTHING}),
    ),
)
#: What is said, on which of the spans and when.
SAID = st.lists(st.tuples(FACTS, st.integers(0, 4), st.integers(0, 60)), max_size=6)


def span(number: int, operation: str, **more: Any) -> Span:
    named = {"gen_ai.operation.name": operation, "gen_ai.agent.name": "orla"}
    return Span(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_span_id="" if number == 1 else f"{1:016x}",
        name=f"span {number}",
        kind=1,
        flags=0,
        started_at=number * 10,
        ended_at=100 if number == 1 else number * 10 + 5,
        status=more.pop("status", "ok"),
        status_message="",
        scope="",
        scope_version="",
        attributes={**named, **more.pop("attributes", {})},
        resource={},
        **more,
    )


def chat(number: int, **more: Any) -> Span:
    messages = [{"role": "assistant", "parts": [{"type": "text", "content": f"answer {number}"}]}]
    attributes = {
        "gen_ai.request.model": "m",
        "gen_ai.response.id": f"resp-{number}",
        "gen_ai.output.messages": json.dumps(messages),
    }
    return span(number, "chat", attributes={**attributes, **more.pop("attributes", {})}, **more)


def agent() -> list[Span]:
    """A run: two model calls, of which the first failed, a tool that failed, and a judge."""
    return [
        span(1, "invoke_agent"),
        chat(2, status="error"),
        chat(3),
        span(4, "execute_tool", status="error", attributes={"gen_ai.tool.name": "send"}),
        span(5, "evaluate", attributes={"gen_ai.request.model": "judge"}),
    ]


def record(name: str, at: int, attributes: dict[str, object], order: int = 0) -> LogRecord:
    return LogRecord(
        event=name, time_ns=at, body=None, attributes=attributes, order=(at, order, f"{order:032x}")
    )


def told(spans: list[Span]) -> Rows:
    return rows_of(read_run("r", spans), "default", 1, None)


def sent(said: list[Any], form_of: Callable[[int], str], chance: random.Random) -> list[Span]:
    """The run with what is said in the forms that are chosen: log records up to three times, all of it mixed."""
    spans, order = agent(), count()
    for number, ((name, attributes), where, at) in enumerate(said):
        form = form_of(number)
        mixed = dict(chance.sample(list(attributes.items()), len(attributes)))
        if form != "log":
            spans[where].events.append(Event(name=name, time_ns=at, attributes=mixed))
        if form != "event":
            spans[where].logs += [record(name, at, mixed, next(order)) for _ in range(chance.randint(1, 3))]
    for each in spans:
        chance.shuffle(each.events)
        each.logs.sort(key=lambda log: log.order)
    chance.shuffle(spans)
    return spans


@settings(max_examples=100, deadline=None, database=None)
@given(said=SAID, seed=st.integers(0, 2**32))
def test_a_fact_is_one_whichever_way_it_is_told(said: list[Any], seed: int) -> None:
    chance = random.Random(seed)
    # What has no time of its own takes that of its span: both forms have one here.
    rows = told(sent(said, lambda _: "event", chance))
    for form in FORMS:
        assert repr(told(sent(said, lambda _: form, chance))) == repr(rows)  # noqa: B023 (called at once)
    # A producer has one way for one thing: equal ones at other times are told alike.
    things = [
        repr((name, sorted(attributes.items(), key=itemgetter(0)))) for (name, attributes), _, _ in said
    ]
    chosen = {thing: chance.choice(FORMS) for thing in things}
    assert repr(told(sent(said, lambda number: chosen[things[number]], chance))) == repr(rows)


def test_each_evaluation_counts_and_each_way_has_its_own_clock() -> None:
    result = "gen_ai.evaluation.result"
    said = {"gen_ai.evaluation.name": "x", "gen_ai.evaluation.score.value": 1.0}
    spans = agent()
    # The same twice, each time as an event and, a moment later, as a record; and one more that is a record alone.
    spans[2].events = [Event(name=result, time_ns=at, attributes=said) for at in (31, 33)]
    spans[2].logs = [record(result, at, said) for at in (32, 34)]
    spans[2].logs.append(record(result, 35, {**said, "gen_ai.evaluation.score.value": 0.0}))
    assert [(row.at, row.score) for row in told(spans).evaluations] == [(31, 1.0), (33, 1.0), (35, 0.0)]


@pytest.mark.parametrize("name", ["exception", "gen_ai.client.operation.exception"])
def test_an_exception_that_was_logged_says_why_a_call_failed(name: str) -> None:
    spans = agent()
    for number in (1, 3):
        spans[number].logs = [
            record(name, 5, {"exception.type": "First", "exception.message": "one"}),
            record(name, 6, {"exception.type": "RateLimitError", "exception.message": "slow down"}),
        ]
    rows = told(spans)
    expected = ("RateLimitError", "slow down")
    assert [(row.error_type, row.error_message) for row in rows.failures] == [expected, expected]
    assert (rows.model_calls[0].error_type, rows.model_calls[0].error_message) == expected
    assert (rows.tool_calls[0].error_type, rows.tool_calls[0].error_message) == expected
    assert [row.error_class for row in rows.failures] == ["transient", "transient"]


def test_an_exception_that_the_agent_caught_fails_nothing() -> None:
    spans = agent()
    spans[2].logs = [record("exception", 5, {"exception.type": "KeyError", "exception.message": "x"})]
    assert [row.span_id for row in told(spans).failures] == [f"{2:016x}", f"{4:016x}"]
    assert told(spans).model_calls[1].error_type is None


def test_what_one_form_of_an_exception_leaves_out_stands_in_the_other() -> None:
    spans = agent()
    spans[1].events = [
        Event(name="exception", time_ns=5, attributes={"exception.type": "A", "exception.message": "why"})
    ]
    spans[1].logs = [record("gen_ai.client.operation.exception", 6, {"exception.type": "A"})]
    assert (told(spans).failures[0].error_type, told(spans).failures[0].error_message) == ("A", "why")
    spans[1].logs = [record("gen_ai.client.operation.exception", 6, {"exception.type": "B"})]
    assert (told(spans).failures[0].error_type, told(spans).failures[0].error_message) == ("B", None)


def test_messages_that_are_told_in_both_forms_are_there_once() -> None:
    asked = [
        ("gen_ai.user.message", "same"),
        ("gen_ai.user.message", "same"),
        ("gen_ai.user.message", "other"),
    ]
    events = [
        Event(name=name, time_ns=at, attributes={"content": said}) for at, (name, said) in enumerate(asked)
    ]
    logs = [
        LogRecord(event=name, time_ns=at, body={"content": said}, attributes={}, order=(at, 0, ""))
        for at, (name, said) in enumerate(asked, start=7)
    ]
    plain = span(2, "chat", attributes={"gen_ai.request.model": "m"})

    def read(**more: Any) -> list[str]:
        rows = told([span(1, "invoke_agent"), replace(plain, **more)])
        return [rows.values[number - 1].json for number in rows.model_calls[0].input_values]

    assert len(read(events=events)) == 3
    assert read(events=events) == read(logs=logs) == read(events=events, logs=logs)
    assert read(events=events[:1], logs=logs[1:]) == read(logs=logs[1:])
    # What was said twice is recorded once: the other time is told by its event alone.
    assert len(read(events=events[:2], logs=logs[:1])) == 2


def flagged(number: int, **more: Any) -> Span:
    return chat(number, attributes={"gen_ai.conversation.compacted": True}, **more)


def compactions(*spans: Span) -> list[tuple[str, int, int]]:
    rows = told([span(1, "invoke_agent"), *spans])
    return [(row.span_id[-1], row.at, row.model_call) for row in rows.compactions]


def test_of_calls_that_have_the_flag_in_a_row_the_first_tells_of_a_compaction() -> None:
    assert compactions(chat(2), flagged(3), flagged(4), chat(5), flagged(6)) == [("3", 30, 2), ("6", 60, 5)]
    assert compactions(chat(2), chat(3)) == []


def test_the_flag_in_the_details_of_a_call_is_that_of_the_call() -> None:
    details: dict[str, object] = {"gen_ai.conversation.compacted": True}
    as_log = chat(3, logs=[record(DETAILS, 35, details)])
    as_event = chat(3, events=[Event(name=DETAILS, time_ns=35, attributes=details)])
    assert compactions(chat(2), as_log) == compactions(chat(2), as_event) == compactions(chat(2), flagged(3))


def test_a_compaction_with_a_span_of_its_own_counts_once() -> None:
    compacting = span(
        3,
        "other",
        attributes={
            "gen_ai.conversation.compacted": True,
            "compaction.tokens_before": 900,
            "compaction.tokens_after": 90,
        },
    )
    rows = told([span(1, "invoke_agent"), chat(2), compacting, flagged(4), flagged(5)])
    (row,) = rows.compactions
    assert (row.model_call, row.tokens_before, row.tokens_after, row.kind) == (2, 900, 90, None)


def test_a_compaction_that_is_stated_is_not_told_again_by_the_flag() -> None:
    stated = Event(
        name="retrospan.compaction", time_ns=25, attributes={"retrospan.compaction.type": COMPACTIONS[0]}
    )
    rows = told([span(1, "invoke_agent", events=[stated]), chat(2), flagged(3)])
    assert [(row.kind, row.model_call) for row in rows.compactions] == [("summary", 2)]


def test_the_flag_of_an_agent_sums_up_and_counts_only_alone() -> None:
    about = {"gen_ai.conversation.compacted": True}
    root = span(1, "invoke_agent", attributes=about)
    assert [row.model_call for row in told([root, chat(2), flagged(3)]).compactions] == [2]
    assert [row.model_call for row in told([root, chat(2), chat(3)]).compactions] == [0]


@pytest.mark.parametrize(
    ("value", "problems"), [(False, 0), ("true", 0), ("yes", 1), (1, 1), (None, 0), ([], 1)]
)
def test_a_flag_that_is_no_truth_is_a_problem(value: object, problems: int) -> None:
    rows = told([span(1, "invoke_agent"), chat(2, attributes={"gen_ai.conversation.compacted": value})])
    assert len(rows.problems) == problems
    assert len(rows.compactions) == (value == "true")
