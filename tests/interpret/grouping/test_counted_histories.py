"""Traces of one request each, whose prompts leave out calls and results, are one run where counts of tokens tell so."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from interpret.grouping.test_turns import read_in_pieces
from made_runs import said
from made_spans import make_span
from spans import read_runs

from retrospan.ingest.interpret.grouping.turns import histories_of
from retrospan.ingest.interpret.run import read_spans
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.warehouse.embedded import EmbeddedStore

SECOND = 10**9
ASKED = said("user", "Shall I take an umbrella?")
FIRST = said("assistant", "I will look.")


def request(
    trace: str, at: float, tokens: tuple[int, int], *given: Any, answer: str = "", **more: Any
) -> Span:
    """Return a request that takes a second, in a trace of its own; its answer is a call that is not told, or a text."""
    resource = {"service.name": "shop", "service.instance.id": more.pop("process", "p1")}
    told = [said("assistant", answer)] if answer else [{"role": "assistant", "parts": []}]
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m-1",
        "gen_ai.input.messages": json.dumps([ASKED, *given]),
        "gen_ai.output.messages": json.dumps(told),
        "gen_ai.usage.input_tokens": tokens[0],
        "gen_ai.usage.output_tokens": tokens[1],
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    began = int((1_000 + at) * SECOND)
    return make_span(
        attributes,
        trace_id=trace * 32,
        started_at=began,
        ended_at=began + SECOND,
        resource=resource,
        scope="some.sdk",
    )


def turn(traces: str, at: float = 0, **more: Any) -> list[Span]:
    """Return a text with a call, two calls, and the answer."""
    return [
        request(traces[0], at, (100, 20), answer="I will look.", **more),
        request(traces[1], at + 2, (150, 25), FIRST, **more),
        request(traces[2], at + 4, (200, 30), FIRST, **more),
        request(traces[3], at + 6, (250, 40), FIRST, answer="Take one.", **more),
    ]


def runs(*spans: Span) -> list[list[str]]:
    """Return the traces of each run, each by its letter."""
    return sorted(sorted({span.sent.trace_id[0] for span in run.tree.spans}) for run in read_runs(spans))


def test_a_prompt_that_is_told_as_the_last_one_and_counted_longer_goes_on_from_it() -> None:
    for order in permutations(turn("abcd")):
        assert runs(*order) == [[*"abcd"]]
    (run,) = read_runs(turn("abcd"))
    assert (run.input, run.output, run.outcome) == ("Shall I take an umbrella?", "Take one.", "ok")


def test_what_is_asked_again_is_another_run() -> None:
    first = turn("abcd")
    assert runs(*first, *turn("ef01", at=60)) == [["0", "1", "e", "f"], [*"abcd"]]
    # As long as before: it did not hold the answer.
    again = request("e", 2, (100, 25))
    assert runs(request("a", 0, (100, 20)), again) == [["a"], ["e"]]
    # Longer by less than the answer.
    assert runs(request("a", 0, (100, 20)), request("e", 2, (120, 25))) == [["a"], ["e"]]
    assert runs(request("a", 0, (100, 20)), request("e", 2, (121, 25))) == [["a", "e"]]


@pytest.mark.parametrize(
    "other",
    [
        {"process": "p2"},
        {"gen_ai__request__model": "m-2"},
        {"gen_ai__conversation__id": "c-1"},
        {"gen_ai__system_instructions": json.dumps([{"type": "text", "content": "Be kind."}])},
    ],
)
def test_another_process_model_system_or_a_stated_conversation_is_another_run(other: dict[str, Any]) -> None:
    one, two = request("a", 0, (100, 20)), request("b", 2, (150, 20))
    assert runs(one, two) == [["a", "b"]]
    assert runs(one, request("b", 2, (150, 20), **other)) == [["a"], ["b"]]


def test_a_new_message_of_the_user_and_an_answer_that_is_not_retold_are_another_run() -> None:
    one = request("a", 0, (100, 20), answer="I will look.")
    assert runs(one, request("b", 2, (150, 20))) == [["a"], ["b"]]
    assert runs(one, request("b", 2, (150, 20), FIRST, said("user", "Well?"))) == [["a"], ["b"]]
    assert runs(one, request("b", 2, (150, 20), FIRST)) == [["a", "b"]]


@pytest.mark.parametrize(
    ("reason", "retold", "expected"),
    [
        ("tool_calls", [], [["a", "b"]]),
        ("tool_calls", [FIRST], [["a", "b"]]),
        ("stop", [], [["a"], ["b"]]),
        ("stop", [FIRST], [["a"], ["b"]]),
    ],
)
def test_how_an_answer_ended_says_whether_its_turn_goes_on(
    reason: str, retold: list[Any], expected: list[list[str]]
) -> None:
    ended = {"gen_ai__response__finish_reasons": [reason]}
    one = request("a", 0, (100, 20), answer="I will look.", **ended)
    assert runs(one, request("b", 2, (150, 20), *retold)) == expected


def test_what_is_silent_around_a_request_does_not_keep_its_turn_apart() -> None:
    spans = [request("a", 0, (100, 20)), request("b", 2, (150, 20), answer="Yes.")]
    around = [
        make_span(
            {"gen_ai.operation.name": "invoke_workflow"},
            trace_id=span.trace_id,
            started_at=span.started_at - 1,
            ended_at=span.ended_at + 1,
            resource=span.resource,
            scope="some.sdk",
        )
        for span in spans
    ]
    inside = [replace(s, parent_span_id=w.span_id) for s, w in zip(spans, around, strict=True)]
    assert runs(*around, *inside) == [["a", "b"]]
    named = replace(
        inside[0], attributes={**inside[0].attributes, "some.turn.id": "7d9f3c1e-5b7a-4c1e-9a51-3f0c2b7d8e11"}
    )
    assert histories_of(read_spans([around[0], named], ParseIssues())).answers
    telling = replace(around[1], attributes={**around[1].attributes, "input.value": "Shall I?"})
    assert runs(around[0], telling, *inside) == [["a"], ["b"]]


def test_where_answers_are_not_told_a_longer_prompt_may_be_another() -> None:
    spans = [request("a", 0, (100, 20)), request("b", 2, (150, 20))]
    untold = [
        replace(span, attributes={k: v for k, v in span.attributes.items() if k != "gen_ai.output.messages"})
        for span in spans
    ]
    assert (runs(*spans), runs(*untold)) == ([["a", "b"]], [["a"], ["b"]])


def test_two_that_ask_the_same_at_the_same_time_are_not_told_apart() -> None:
    one, other = request("a", 0, (100, 20)), request("b", 0.5, (100, 20))
    assert runs(one, other, request("c", 3, (150, 20))) == [["a"], ["b"], ["c"]]


@pytest.mark.long
def test_traces_that_come_apart_are_read_together(store: EmbeddedStore, interpreter: Interpreter) -> None:
    spans = turn("abcd")
    come = [spans[at] for at in (2, 0, 3, 1)]
    assert read_in_pieces(store, interpreter, come) == [["a", [*"abcd"], 4, 0]]
