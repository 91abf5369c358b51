"""One turn in two traces is one run where both tell the same of it, and two runs where they do not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_spans import make_span
from spans import rows_of_spans

from retrospan.ingest.interpret.spans.span import Span

SECOND = 10**9
GIVEN, ANSWER = [{"role": "user", "content": "Hi"}], [{"role": "assistant", "content": "Ho"}]


def around(trace: str, began: int, ended: int, **more: Any) -> Span:
    name = more.pop("name", "turn")
    return make_span(
        {"gen_ai.operation.name": "invoke_workflow", **more},
        name=name,
        trace_id=trace * 32,
        started_at=began * SECOND,
        ended_at=ended * SECOND,
    )


def whole(
    began: int = 1, ended: int = 9, given: object = GIVEN, answer: object = ANSWER, **more: Any
) -> Span:
    told = {"gen_ai.prompt": json.dumps({"messages": given}), "gen_ai.completion": json.dumps(answer)}
    return around("a", began, ended, **told, **more)


def parts(trace: str = "b", **more: Any) -> list[Span]:
    began, ended = 2, 8
    root = around(trace, began, ended, **more)
    call = make_span(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(GIVEN),
            "gen_ai.output.messages": json.dumps(ANSWER),
        },
        trace_id=trace * 32,
        parent_span_id=root.span_id,
        started_at=(began + 1) * SECOND,
        ended_at=(ended - 1) * SECOND,
    )
    return [root, call]


def runs(*spans: Span) -> list[tuple[str | None, int]]:
    return [(each.runs[0].input, len(each.model_calls)) for each in rows_of_spans(spans)]


def test_a_span_of_its_own_and_the_trace_inside_it_are_one_run() -> None:
    assert runs(whole(), *parts()) == [("Hi", 1)]
    assert runs(*parts(), whole()) == [("Hi", 1)]


@pytest.mark.parametrize(
    "spans",
    [
        [whole(began=3), *parts()],
        [whole(given=[{"role": "user", "content": "Hey"}]), *parts()],
        [whole(answer=[{"role": "assistant", "content": "Huh"}]), *parts()],
        [whole(name="another turn"), *parts()],
        [whole(), *parts("b", **{"gen_ai.prompt": json.dumps({"messages": GIVEN})})],
    ],
    ids=[
        "begins later",
        "was given something else",
        "answered something else",
        "another name",
        "tells itself",
    ],
)
def test_others_are_two(spans: list[Span]) -> None:
    assert len(runs(*spans)) == 2


def test_of_two_traces_inside_only_the_first_belongs_to_it() -> None:
    assert len(runs(whole(), *parts(), *parts(trace="c"))) == 2
