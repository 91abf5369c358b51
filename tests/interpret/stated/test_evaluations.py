"""Evaluations: what is read of each form, what was judged and by whom, and what cannot be read."""

from __future__ import annotations

from typing import Any

import pytest
from spans import read_run

from retrospan.ingest.interpret.dialects.vocabulary import EVERY_FAMILY
from retrospan.ingest.interpret.grouping.grouping import joined_trace
from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.loose_logs import place_loose
from retrospan.ingest.interpret.spans.span import Event, Link, LogRecord, Span
from retrospan.schemas import semconv
from retrospan.schemas.stated import EvaluationRow

TRACE = "a" * 32
RESULT = "gen_ai.evaluation.result"


def span(number: int, operation: str | None = None, parent: int = 0, **more: Any) -> Span:
    """A span that begins at ten times its number; more of its fields by their names."""
    attributes = {"gen_ai.operation.name": operation} if operation else {}
    return Span(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_span_id=f"{parent:016x}" if parent else "",
        name=more.pop("name", f"span {number}"),
        kind=1,
        flags=0,
        started_at=number * 10,
        ended_at=number * 10 + 5,
        status="ok",
        status_message="",
        scope="",
        scope_version="",
        attributes={**attributes, **more.pop("attributes", {})},
        resource={},
        **more,
    )


def chat(number: int, answer: str = "Paris", **more: Any) -> Span:
    attributes = {
        "gen_ai.request.model": "m",
        "gen_ai.response.id": f"resp-{number}",
        "gen_ai.output.messages": f'[{{"role":"assistant","parts":[{{"type":"text","content":"{answer}"}}]}}]',
    }
    return span(number, "chat", 1, attributes={**attributes, **more.pop("attributes", {})}, **more)


def said(**fields: object) -> dict[str, object]:
    """The attributes of an evaluation; a part of a name that stands alone is the last one."""
    names = {
        "name": "gen_ai.evaluation.name",
        "score": "gen_ai.evaluation.score.value",
        "label": "gen_ai.evaluation.score.label",
        "explanation": "gen_ai.evaluation.explanation",
        "response_id": "gen_ai.response.id",
        "error": "error.type",
        "judge": "gen_ai.evaluation.evaluator.name",
    }
    return {names[key]: value for key, value in fields.items()}


def event(at: int = 12, **fields: object) -> Event:
    return Event(name=RESULT, time_ns=at, attributes=said(**fields))


def log(at: int = 12, **fields: object) -> LogRecord:
    return LogRecord(event=RESULT, time_ns=at, body=None, attributes=said(**fields), order=(at, 0, ""))


def told(*spans: Span) -> Rows:
    return rows_of(read_run("r", spans), "default", 1, None)


def one(*spans: Span) -> EvaluationRow:
    (row,) = told(*spans).evaluations
    return row


def answer_of(rows: Rows, call: int = 0) -> str:
    return f"message:{rows.values[rows.model_calls[call].output_values[0] - 1].hash}"


def test_an_event_on_a_model_call_judges_its_answer() -> None:
    rows = told(
        span(1, "invoke_agent"),
        chat(2, events=[event(score=0.5, name="Relevance", label="fair", explanation="so so")]),
    )
    (row,) = rows.evaluations
    assert (row.name, row.score, row.label, row.explanation) == ("Relevance", 0.5, "fair", "so so")
    assert (row.step, row.span_id, row.at, row.judge) == (1, f"{2:016x}", 12, None)
    assert row.judged == answer_of(rows)


def test_an_answer_is_found_by_its_id_wherever_the_event_lies() -> None:
    rows = told(
        span(1, "invoke_agent", logs=[log(name="Relevance", score=1, response_id="resp-3")]),
        chat(2),
        chat(3, answer="Rome"),
    )
    (row,) = rows.evaluations
    assert (row.judged, row.response_id, row.step) == (answer_of(rows, 1), "resp-3", None)


def test_an_id_of_no_answer_here_says_nothing_of_the_span() -> None:
    row = one(
        span(1, "invoke_agent"), chat(2, events=[event(name="x", score=1, response_id="of another run")])
    )
    assert (row.judged, row.response_id) == (None, "of another run")


def test_a_tool_is_judged_by_its_step_and_an_agent_by_its_span() -> None:
    tool = span(2, "execute_tool", 1, attributes={"gen_ai.tool.name": "send"}, events=[event(name="safe")])
    assert one(span(1, "invoke_agent"), tool).judged == "step:r/1"
    assert one(span(1, "invoke_agent", events=[event(name="safe")])).judged == f"span:{TRACE}/{1:016x}"


def test_a_span_inside_a_model_call_that_is_not_the_call_itself_is_judged_as_that_span() -> None:
    inside = span(3, None, 2, events=[event(name="safe")])
    assert one(span(1, "invoke_agent"), chat(2), inside).judged == f"span:{TRACE}/{3:016x}"


def test_what_an_evaluator_judged_is_told_by_its_link_and_never_by_its_parent() -> None:
    judge = span(
        3, "evaluate", 2, events=[event(name="x", score=1)], attributes={"gen_ai.agent.name": "Judge"}
    )
    assert one(span(1, "invoke_agent"), chat(2), judge).judged is None
    linked = span(
        3, "evaluate", 1, events=[event(name="x", score=1)], links=[Link(trace_id=TRACE, span_id=f"{2:016x}", attributes={})]
    )  # fmt: skip
    rows = told(span(1, "invoke_agent"), chat(2), linked)
    assert rows.evaluations[0].judged == answer_of(rows)
    elsewhere = span(3, "evaluate", 1, events=[event(name="x")], links=[Link(trace_id="b" * 32, span_id="c" * 16, attributes={})])  # fmt: skip
    assert one(span(1, "invoke_agent"), elsewhere).judged == f"span:{'b' * 32}/{'c' * 16}"
    two = span(
        3, "evaluate", 1, events=[event(name="x")], links=[Link(trace_id="b" * 32, span_id=at * 16, attributes={}) for at in "cd"]
    )  # fmt: skip
    assert one(span(1, "invoke_agent"), two).judged is None


def test_an_evaluation_in_a_trace_of_its_own_does_not_join_the_run_that_it_judges() -> None:
    link = Link(trace_id="b" * 32, span_id="c" * 16, attributes={})
    assert joined_trace([span(1, "evaluate", links=[link])], EVERY_FAMILY) == ""
    assert joined_trace([span(1, "chat", links=[link])], EVERY_FAMILY) == "b" * 32


@pytest.mark.parametrize(
    ("attributes", "judge"),
    [
        ({"gen_ai.agent.name": "Judge", "gen_ai.request.model": "m"}, "Judge"),
        ({"gen_ai.request.model": "m"}, "m"),
        ({"gen_ai.request.model": "m", "gen_ai.response.model": "m-1"}, "m-1"),
        ({}, None),
    ],
)
def test_the_judge_is_the_agent_or_the_model_of_the_evaluators_span(
    attributes: dict[str, object], judge: str | None
) -> None:
    row = one(
        span(1, "invoke_agent"), span(2, "evaluate", 1, attributes=attributes, events=[event(name="x")])
    )
    assert row.judge == judge


def test_a_judge_that_the_event_names_comes_first() -> None:
    assert one(span(1, "invoke_agent", events=[event(name="x", judge="ragas")])).judge == "ragas"
    source = {
        "gen_ai.evaluation.name": "x",
        "gen_ai.evaluation.evaluator.source": '{"name":"LLMJudge","arguments":null}',
    }
    record = LogRecord(
        event=RESULT, time_ns=12, body="evaluation: x=True", attributes=source, order=(12, 0, "")
    )
    assert one(span(1, "invoke_agent", logs=[record])).judge == "LLMJudge"


def test_annotations_judge_the_span_that_has_them_and_evaluations_the_one_that_is_linked() -> None:
    annotated = chat(
        2,
        attributes={
            "annotations.0.annotation.name": "hallucination",
            "annotations.0.annotation.score": 1,
            "annotations.0.annotation.annotator_kind": "HUMAN",
            "annotations.1.annotation.name": "tone",
            "annotations.1.annotation.label": "rude",
            "annotations.1.annotation.metadata": '{"evaluator":"judge-v2"}',
        },
    )
    judging = span(
        3,
        parent=1,
        attributes={
            "openinference.span.kind": "EVALUATOR",
            "evaluations.0.evaluation.name": "correctness",
            "evaluations.0.evaluation.score": 0.25,
            "evaluations.0.evaluation.explanation": "wrong city",
        },
        links=[Link(trace_id=TRACE, span_id=f"{2:016x}", attributes={})],
    )
    rows = told(span(1, "invoke_agent"), annotated, judging)
    assert [(row.name, row.score, row.label, row.judge) for row in rows.evaluations] == [
        ("hallucination", 1.0, None, "HUMAN"),
        ("tone", None, "rude", "judge-v2"),
        ("correctness", 0.25, None, None),
    ]
    assert {row.judged for row in rows.evaluations} == {answer_of(rows)}


def test_a_result_that_is_also_in_the_attributes_is_one() -> None:
    fields: dict[str, object] = {"name": "x", "score": 0.5, "label": "ok"}
    judge = span(
        2, "evaluate", 1, attributes=said(**fields), events=[event(13, **fields)], logs=[log(14, **fields)]
    )
    assert one(span(1, "invoke_agent"), judge).at == 13


def test_the_event_as_a_span_of_its_own_judges_nothing_by_its_parent() -> None:
    alone = span(3, None, 2, name=RESULT, attributes=said(name="x", score=1, response_id="resp-2"))
    rows = told(span(1, "invoke_agent"), chat(2), alone)
    assert [(row.judged, row.score) for row in rows.evaluations] == [(answer_of(rows), 1.0)]
    assert one(span(1, "invoke_agent"), chat(2), span(3, None, 2, name=RESULT, attributes=said(name="x", score=1))).judged is None  # fmt: skip


def test_attributes_in_the_body_of_a_record_are_read() -> None:
    record = LogRecord(
        event=RESULT, time_ns=12, body=said(name="x", score=3), attributes={}, order=(12, 0, "")
    )
    row = one(span(1, "invoke_agent", logs=[record]))
    assert (row.name, row.score) == ("x", 3.0)


@pytest.mark.parametrize(
    ("score", "read", "problems"),
    [
        (1, 1.0, 0),
        (-0.5, -0.5, 0),
        ("0.75", 0.75, 0),
        (float("nan"), None, 1),
        (float("inf"), None, 1),
        ("nan", None, 1),
        ("good", None, 1),
        (True, None, 1),
        (10**400, None, 1),
        ([1], None, 1),
        (None, None, 0),
        ("", None, 0),
    ],
)
def test_a_score_that_is_no_number_is_a_problem_and_the_rest_is_kept(
    score: object, read: float | None, problems: int
) -> None:
    rows = told(span(1, "invoke_agent", events=[event(name="x", score=score, label="l")]))
    assert [(row.score, row.label) for row in rows.evaluations] == [(read, "l")]
    assert len([each for each in rows.problems if each.field == "gen_ai.evaluation.score.value"]) == problems


def test_an_evaluation_without_a_name_is_kept_and_listed() -> None:
    rows = told(span(1, "invoke_agent", events=[event(score=1), event(13, name="y", error="Timeout")]))
    assert [(row.name, row.score, row.error_type) for row in rows.evaluations] == [
        (None, 1.0, None),
        ("y", None, "Timeout"),
    ]
    assert [problem.reason for problem in rows.problems] == [f"missing in the event {RESULT}"]


def test_a_problem_names_the_attribute_that_was_sent() -> None:
    rows = told(
        span(
            1,
            "invoke_agent",
            attributes={"annotations.0.annotation.name": "x", "annotations.0.annotation.score": "bad"},
        )
    )
    assert [problem.field for problem in rows.problems] == ["annotations.annotation.score"]


def test_long_and_odd_texts_are_kept_as_they_are() -> None:
    explanation, name = "\x1b[31m\x00" + "x" * 1_000_000, "\u202eodd\ud800"
    row = one(span(1, "invoke_agent", events=[event(name=name, explanation=explanation)]))
    assert (row.name, row.explanation) == (name, explanation)


def test_only_an_evaluation_makes_a_run_of_a_span() -> None:
    assert read_run("r", [span(1, events=[event(name="x")])]).tree.spans[0].is_work
    assert (
        not read_run("r", [span(1, events=[Event(name="other", time_ns=1, attributes={})])])
        .tree.spans[0]
        .is_work
    )


def test_an_event_without_a_time_is_known_from_the_end_of_its_span() -> None:
    assert one(span(1, "invoke_agent"), chat(2, events=[event(at=0, name="x", score=1)])).at == 25
    assert one(span(1, "invoke_agent"), chat(2, events=[event(at=21, name="x", score=1)])).at == 21


def test_evaluations_that_name_no_span_keep_their_order() -> None:
    spans = [span(1, "invoke_agent"), chat(2)]
    nowhere = [("", log(at=14, name="later")), ("", log(at=13, name="sooner"))]
    answered = [(f"{9:016x}", log(at=at, name=f"{at}", response_id="resp-2")) for at in (18, 17)]
    place_loose(spans, [*nowhere, *answered], [semconv.RESPONSE_ID])
    assert [record.attributes["gen_ai.evaluation.name"] for record in spans[0].loose] == ["sooner", "later"]
    assert [record.attributes["gen_ai.evaluation.name"] for record in spans[1].logs] == ["17", "18"]
