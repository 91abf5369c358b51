"""Facts as span events, as log records, and as both: the same rows, in any order and however often they come."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from spans import rows_of_spans, spans_of_requests
from telling import SECOND, Fact, Told, logs_request, spans_request

from retrospan.ingest.interpret.rows.lists import LISTS, Rows
from retrospan.schemas import attributes as names

RUN, OTHER_RUN = f"{1:032x}", f"{2:032x}"
#: One of each of the conventions, as the exporter says it.
FACTS: dict[str, dict[str, Any]] = {
    names.OBSERVATION: {names.ENTITY_TYPE: "order", names.ENTITY_ID: "1", names.CHANGES: '{"x":1,"y":null}'},
    names.USE: {names.ENTITY_TYPE: "order", names.ENTITY_ID: "1", names.FIELD: "x"},
    names.DECISION: {names.DECISION_NAME: "d", names.DECISION_CHOSEN: "a", names.DECISION_RATIONALE: "why"},
    names.CHECKPOINT: {names.CHECKPOINT_ID: "c1"},
    names.DERIVATION: {names.RELATION: "used", names.SUBJECT: "output:a", names.OBJECT: "document:b"},
    names.COMPACTION: {names.COMPACTION_TYPE: "trim", names.COMPACTION_TOKENS_BEFORE: 9},
    names.APPROVAL: {names.APPROVAL_DECISION: "yes", names.APPROVAL_APPROVER: "me"},
}
#: Events whose attributes are those of the span.
FILLING: dict[str, dict[str, Any]] = {
    names.EFFECT_EVENT: {
        names.EFFECT: "write",
        names.EFFECT_STATUS: "executed",
        names.IDEMPOTENCY_KEY: "k",
    },
    names.OUTPUT_EVENT: {names.OUTPUT_ID: "out"},
    names.STATE_EVENT: {names.STATE_AFTER: '{"a":2}'},
}
FORMS = ("event", "log", "both")
_NOT_COMPARED = ("known_from", "arrived_at", "through_sequence", "generation")


def read(spans: Iterable[Span], logs: Iterable[LogRecord]) -> Rows:
    """Return the rows of the one run; each record in a request of its own."""
    (rows,) = rows_of_spans(
        spans_of_requests([spans_request(span) for span in spans], [logs_request(log) for log in logs])
    )
    return rows


def compared(rows: Rows) -> dict[str, list[dict[str, Any]]]:
    return {
        table: [
            {each.name: getattr(row, each.name) for each in fields(row) if each.name not in _NOT_COMPARED}
            for row in getattr(rows, table)
        ]
        for table in LISTS
    }


def step(number: int, *facts: Fact, **more: Any) -> Told:
    given_: dict[str, Any] = {
        "name": f"step {number}",
        "at": number * 100 * SECOND,
        "until": (number * 100 + 50) * SECOND,
        "parent": 1 if number > 1 else 0,
        "said": {names.STEP_NAME: f"s{number}", names.STATE_BEFORE: '{"a":1}'},
        "run_id": RUN,
        "facts": list(facts),
    }
    return Told(number=number, **{**given_, **more})


def root(**more: Any) -> Told:
    said = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}
    return step(1, **{"said": said, "name": "invoke_agent clerk", "until": 10_000 * SECOND, **more})


@st.composite
def telling(draw: st.DrawFn) -> list[Told]:
    """A run of a few steps that state facts, some at the same time, some with the same content."""
    made = [root()]
    for number in range(2, draw(st.integers(2, 4)) + 1):
        facts = []
        for place, name in enumerate(
            draw(st.lists(st.sampled_from(sorted({**FACTS, **FILLING})), max_size=5))
        ):
            said = {**FACTS, **FILLING}[name]
            at = (number * 100 + draw(st.integers(1, 3))) * SECOND
            facts.append(Fact(name=name, at=at, said=said, event_id=f"{number:08x}{place:08x}"))
        made.append(step(number, *facts))
    return made


def sent(told: Sequence[Told], forms: Sequence[str]) -> tuple[list[Span], list[LogRecord]]:
    """Return the spans and records of a run whose facts take these forms in turn; effects are on the spans as well."""
    spans, logs, place = [], [], 0
    for one in told:
        events = []
        filled: dict[str, Any] = {}
        for fact in sorted(one.facts, key=lambda fact: (fact.at, fact.event_id)):
            form = forms[place % len(forms)]
            place += 1
            if form != "log":
                # As the exporter does: these are attributes of the span.
                filled.update(fact.said if fact.name in FILLING else {})
                events += [] if fact.name in FILLING else [fact.as_event()]
            if form != "event":
                logs.append(fact.as_log(one))
        spans.append(replace(one, more={**one.more, **filled}).ended(events))
    return spans, logs


@settings(max_examples=80, deadline=None, database=None)
@given(
    told=telling(), forms=st.lists(st.sampled_from(FORMS), min_size=1, max_size=7), seed=st.integers(0, 2**32)
)
def test_every_form_gives_the_same_rows_in_any_order(told: list[Told], forms: list[str], seed: int) -> None:
    expected = compared(read(*sent(told, ["event"])))
    chance = random.Random(seed)
    spans, logs = sent(told, forms)
    logs += [one.begun() for one in told]
    spans += chance.sample(spans, len(spans) // 2)
    logs += chance.sample(logs, len(logs) // 2)
    chance.shuffle(spans)
    chance.shuffle(logs)
    found = compared(read(spans, logs))
    # When anything was last said is known earlier from what is sent at once, and is the same at the end.
    assert found == expected


@pytest.mark.parametrize("name", [*FACTS, *FILLING])
@pytest.mark.parametrize("form", FORMS)
def test_each_fact_is_read_in_each_form(name: str, form: str) -> None:
    fact = Fact(name=name, at=210 * SECOND, said={**FACTS, **FILLING}[name], event_id="ab" * 8)
    told = [root(), step(2, fact)]
    bare = compared(read(*sent([root(), step(2)], ["event"])))
    found = read(*sent(told, [form]))
    assert compared(found) != bare
    assert found.problems == []
    assert compared(found) == compared(read(*sent(told, ["event"])))


@settings(max_examples=60, deadline=None, database=None)
@given(told=telling(), ended=st.sets(st.integers(1, 4)), seed=st.integers(0, 2**32), twice=st.booleans())
def test_what_began_and_what_ended_give_the_same_rows_in_any_order(
    told: list[Told], ended: set[int], seed: int, twice: bool
) -> None:
    chance = random.Random(seed)
    spans = [one.ended() for one in told if one.number in ended]
    logs = [one.begun() for one in told] + [fact.as_log(one) for one in told for fact in one.facts]
    expected = compared(read(spans, logs))
    mixed_spans, mixed_logs = [*spans], [*logs]
    if twice:
        mixed_spans, mixed_logs = spans * 2, logs * 2
    chance.shuffle(mixed_spans)
    chance.shuffle(mixed_logs)
    assert compared(read(mixed_spans, mixed_logs)) == expected
    (run,) = read(spans, logs).runs
    assert (run.outcome, run.incomplete_because) == (
        ("ok", None) if 1 in ended else ("incomplete", "not_ended")
    )
    statuses = {row.span_id: row.status for row in read(spans, logs).steps}
    assert statuses == {
        one.span_id.hex(): "ok" if one.number in ended else "incomplete" for one in told if one.number > 1
    }


def test_an_end_months_later_replaces_the_beginning() -> None:
    told = root()
    late = replace(told, until=told.at + 90 * 86_400 * SECOND)
    open_run = read([], [told.begun(), step(2).begun()]).runs[0]
    assert (open_run.is_open, open_run.ended_at, open_run.agent_name) == (True, None, "clerk")
    done = read([late.ended()], [told.begun(), step(2).begun()]).runs[0]
    assert (done.outcome, done.is_open, done.ended_at) == ("ok", False, late.until)


def test_an_event_whose_span_never_comes_is_a_row_of_an_incomplete_run() -> None:
    fact = Fact(name=names.OBSERVATION, at=150 * SECOND, said=FACTS[names.OBSERVATION], event_id="ab" * 8)
    rows = read([], [fact.as_log(step(2))])
    (run,) = rows.runs
    assert (run.run_id, run.outcome, run.incomplete_because) == (RUN, "incomplete", "no_root")
    assert [row.field for row in rows.observations] == ["x", "y"]
    with_root = read([root().ended()], [fact.as_log(step(2))])
    assert with_root.runs[0].incomplete_because == "missing_parent"
    assert [row.observation_id for row in with_root.observations] == [
        row.observation_id
        for row in read([root().ended(), step(2).ended([fact.as_event()])], []).observations
    ]


@pytest.mark.parametrize("other", ["", 7])
def test_a_span_that_never_comes_is_of_the_first_run_that_its_events_name(other: object) -> None:
    def fact(at: int, run_id: object) -> LogRecord:
        said = {**FACTS[names.OBSERVATION], names.RUN_ID: run_id}
        return Fact(name=names.OBSERVATION, at=at * SECOND, said=said, event_id=f"{at:016x}").as_log(
            step(2, run_id="")
        )

    (run,) = read([], [fact(150, other), fact(151, OTHER_RUN)]).runs
    assert run.run_id == OTHER_RUN


def test_an_open_run_is_of_the_process_of_its_root() -> None:
    told = root(process="p-1")
    inside = step(2, process="p-2")
    assert read([], [told.begun(), inside.begun()]).runs[0].process_id == "p-1"
    assert read([told.ended()], [told.begun(), inside.begun()]).runs[0].process_id == "p-2"


def test_an_effect_that_began_may_have_happened_until_its_end_is_said() -> None:
    planned = {names.EFFECT: "write", names.EFFECT_STATUS: "planned", names.IDEMPOTENCY_KEY: "k"}
    told = step(2, said={**step(2).said, **planned})
    assert [row.effect_status for row in read([], [root().begun(), told.begun()]).effects] == ["unknown"]
    done = Fact(name=names.EFFECT_EVENT, at=220 * SECOND, said={**planned, names.EFFECT_STATUS: "executed"})
    logs = [root().begun(), told.begun(), done.as_log(told)]
    assert [(row.effect_status, row.at) for row in read([], logs).effects] == [("executed", 220 * SECOND)]
    # Of a span that has ended its own attributes count.
    assert [row.effect_status for row in read([root().ended(), told.ended()], logs).effects] == ["planned"]


def test_calls_that_began_and_have_no_answer_are_incomplete() -> None:
    said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "send"}
    tool = step(2, said={**said, "gen_ai.tool.call.arguments": '{"to":"a"}'})
    model = step(3, said={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})
    rows = read([], [root().begun(), tool.begun(), model.begun()])
    assert [(row.status, row.arguments) for row in rows.tool_calls] == [("incomplete", '{"to":"a"}')]
    assert [row.status for row in rows.model_calls] == ["incomplete"]
    assert [row.status for row in rows.steps] == ["incomplete", "incomplete"]
    assert rows.runs[0].errors == 0


def test_who_instruments_a_span_tells_that_it_is_an_agents_before_it_says_what_it_does() -> None:
    """OpenInference says what a span does when it ends: an agent that is killed before any has ended had begun a run."""
    said: dict[str, Any] = {}
    told = [step(2, said=said), step(3, said=said)]

    def runs(*spans: Span, scope: str = "openinference.instrumentation.langchain") -> list[Rows]:
        logs = [logs_request(each.begun(), scope_name=scope) for each in told]
        return rows_of_spans(spans_of_requests([spans_request(span) for span in spans], logs))

    (rows,) = runs()
    assert [(run.run_id, run.outcome, run.is_open) for run in rows.runs] == [(RUN, "incomplete", True)]
    assert rows.steps == []
    assert runs(scope="opentelemetry.instrumentation.requests") == []
    # What has ended and says nothing of an agent is none.
    assert runs(*(each.ended() for each in told)) == []


def test_a_fork_that_began_names_where_it_went_another_way() -> None:
    link = {
        "trace_id": "cd" * 16,
        "span_id": "cd" * 8,
        "attributes": {names.LINK_TYPE: "forks", names.RUN_ID: "first"},
    }
    said = {**root().said, names.FORK_STEP: 3, names.FORK_PATCH: '[{"op":"remove","path":"/a"}]'}
    told = root(said=said, links=[link])
    for rows in (read([], [told.begun()]), read([told.ended()], [])):
        (run,) = rows.runs
        assert (run.parent_run_id, run.parent_link, run.fork_step) == ("first", "forks", 3)
        assert run.patch == '[{"op":"remove","path":"/a"}]'


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (names.BEGUN_NAME, 7),
        (names.BEGUN_KIND, "x"),
        (names.BEGUN_PARENT, "zz"),
        (names.BEGUN_REMOTE, "maybe"),
        (names.BEGUN_LINKS, "{"),
        (names.BEGUN_LINKS, '[{"trace_id":"no"}]'),
        (names.PROCESS_ID, 7),
    ],
)
def test_a_beginning_that_cannot_be_read_is_a_problem_and_a_span(key: str, value: object) -> None:
    rows = read([], [root().begun({key: value})])
    assert [problem.field for problem in rows.problems] == [key]
    assert rows.runs[0].agent_name == "clerk"


def test_a_log_of_ours_that_cannot_be_read_is_a_problem() -> None:
    said = {names.ENTITY_TYPE: "order", names.ENTITY_ID: "1", names.CHANGES: "["}
    bad = Fact(name=names.OBSERVATION, at=120 * SECOND, said=said, event_id="ab" * 8)
    unheard = Fact(name="retrospan.unheard_of", at=120 * SECOND, said={}, event_id="cd" * 8)
    rows = read([root().ended()], [bad.as_log(root()), unheard.as_log(root())])
    assert sorted(problem.field for problem in rows.problems) == [names.CHANGES, "retrospan.unheard_of"]


def test_an_event_that_comes_with_other_content_counts_once_and_is_a_problem() -> None:
    said = FACTS[names.OBSERVATION]
    one = Fact(name=names.OBSERVATION, at=120 * SECOND, said=said, event_id="ab" * 8)
    other = replace(one, said={**said, names.CHANGES: '{"x":2}'})
    rows = read([root().ended([other.as_event()])], [one.as_log(root())])
    assert [row.value for row in rows.observations if row.field == "x"] == ["1"]
    assert [problem.field for problem in rows.problems] == [names.EVENT_ID]


def test_the_same_log_without_an_id_is_one_fact_and_an_event_without_one_another() -> None:
    fact = Fact(name=names.OBSERVATION, at=120 * SECOND, said=FACTS[names.OBSERVATION])
    rows = read([root().ended([fact.as_event()])], [fact.as_log(root()), fact.as_log(root())])
    assert len({row.observation_id for row in rows.observations}) == 2
