"""A user turn whose requests have a trace each is one run: the next request retells the history of the last."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from interpreting import canonical, load
from made_runs import asks, returned, said
from made_spans import make_span
from opentelemetry.proto.trace.v1 import trace_pb2 as otlp
from otlp_requests import traces as request_with
from spans import read_runs, rows_of_spans

from retrospan.ingest.interpret.grouping.equal_histories import MOST_EQUAL
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse

SECOND = 10**9
ASKED = said("user", "Shall I take an umbrella?")


def request(
    trace: str, at: float, given: Sequence[object], *answer: Any, service: str = "shop", **more: Any
) -> Span:
    """Return a request with a trace of its own, that takes a second; more are attributes, `__` stands for a point."""
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(given),
        **({"gen_ai.output.messages": json.dumps([said("assistant", *answer)])} if answer else {}),
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    began = int((1_000 + at) * SECOND)
    return make_span(
        attributes,
        trace_id=trace * 32,
        started_at=began,
        ended_at=began + SECOND,
        resource={"service.name": service},
        scope="some.sdk",
    )


def turn(
    traces: str, at: float = 0, ids: tuple[str | None, str | None] = ("c1", "c2"), **more: Any
) -> list[Span]:
    """Return three requests: two that ask for a tool, and the answer."""
    one, two = asks("weather", {"city": "Oslo"}, ids[0]), asks("weather", {"city": "Bergen"}, ids[1])
    first = [ASKED, said("assistant", one), returned(ids[0], "snow")]
    second = [*first, said("assistant", two), returned(ids[1], "rain")]
    return [
        request(traces[0], at, [ASKED], one, **more),
        request(traces[1], at + 3, first, two, **more),
        request(traces[2], at + 6, second, "Take one.", **more),
    ]


def runs(*spans: Span) -> list[tuple[str, list[str]]]:
    """Return (run, its traces), each by the first letter."""
    return sorted(
        (run.run_id[0], sorted({span.sent.trace_id[0] for span in run.tree.spans}))
        for run in read_runs(spans)
    )


def test_the_requests_of_a_turn_are_one_run_in_whatever_order_they_come() -> None:
    for order in permutations(turn("abc")):
        assert runs(*order) == [("a", ["a", "b", "c"])]
    (run,) = read_runs(turn("abc"))
    assert (run.input, run.output, run.outcome) == ("Shall I take an umbrella?", "Take one.", "ok")
    assert [(tool.name, tool.result, tool.status) for tool in run.calls.tools] == [
        ("weather", "snow", "ok"),
        ("weather", "rain", "ok"),
    ]


def test_the_run_of_a_turn_says_that_its_traces_were_joined_by_their_history() -> None:
    (rows,) = rows_of_spans(turn("abc"))
    (run,) = rows.runs
    assert ([alias[0] for alias in run.aliases], run.joined_by) == (["b", "c"], ["history", "history"])


def test_a_request_that_two_instrumentations_tell_in_one_trace_goes_on_from_what_the_outer_one_tells() -> (
    None
):
    ids = ("call_8fh3k29dk4s0", "call_91jd7skq02ld")
    outer = turn("abc", ids=ids)
    # The client's own spans tell less: no call of an answer.
    inner = [
        replace(
            span,
            span_id=f"{number:016x}",
            parent_span_id=span.span_id,
            scope="some.client",
            started_at=span.started_at + 1,
            ended_at=span.ended_at - 1,
            attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"},
        )
        for number, span in enumerate(outer, 7)
    ]
    (run,) = read_runs([*outer, *inner])
    assert len(run.calls.models) == 3
    assert [call.result for call in run.calls.tools] == ["snow", "rain"]


def test_a_new_message_of_the_user_is_a_new_run() -> None:
    first = turn("abc")
    told = json.loads(str(first[2].attributes["gen_ai.input.messages"]))
    again = request("d", 20, [*told, said("assistant", "Take one."), said("user", "And in Oslo?")], "Yes.")
    assert runs(*first, again) == [("a", ["a", "b", "c"]), ("d", ["d"])]
    # Nor does one beside the result of a tool go on.
    with_words = request(
        "e", 30, [ASKED, said("assistant", asks("x", {}, "c9")), said("user", "Well?")], "Hm."
    )
    asked = request("f", 28, [ASKED], asks("x", {}, "c9"))
    assert runs(asked, with_words) == [("e", ["e"]), ("f", ["f"])]


def test_another_history_another_service_or_another_conversation_is_another_run() -> None:
    one, two, three = turn("abc")
    changed = request(
        "d",
        3,
        [said("user", "Shall I not?"), *json.loads(str(two.attributes["gen_ai.input.messages"]))[1:]],
        "No.",
    )
    assert runs(one, changed) == [("a", ["a"]), ("d", ["d"])]
    elsewhere = turn("def", service="mail")
    assert runs(one, elsewhere[1]) == [("a", ["a"]), ("e", ["e"])]
    other = turn("ghi", gen_ai__conversation__id="c-2")
    assert runs(one, other[1]) == [("a", ["a"]), ("h", ["h"])]
    assert runs(*other) == [("g", ["g", "h", "i"])]
    assert runs(one, three) == [("a", ["a"]), ("c", ["c"])]  # what is between never came


def test_a_trace_of_several_requests_begins_with_its_first_and_ends_with_its_last() -> None:
    one, two, three = turn("abb")
    assert runs(one, two, three) == [("a", ["a", "b"])]
    one, two, three = turn("aac")
    assert runs(one, two, three) == [("a", ["a", "c"])]


def test_what_has_an_agent_of_its_own_is_a_whole_turn() -> None:
    one, two, _ = turn("abc")
    root = make_span(
        {"gen_ai.operation.name": "invoke_agent"}, trace_id="b" * 32, started_at=two.started_at - 1
    )
    two.parent_span_id = root.span_id
    assert runs(one, two, root) == [("a", ["a"]), ("b", ["b"])]


def test_equal_turns_one_after_the_other_are_told_apart() -> None:
    first, second = turn("abc", 0), turn("def", 100)
    for order in ((*first, *second), (*second[::-1], *first)):
        assert runs(*order) == [("a", ["a", "b", "c"]), ("d", ["d", "e", "f"])]


def test_equal_turns_at_the_same_time_are_not_guessed() -> None:
    first, second = turn("abc", 0), turn("def", 0.5)
    found = runs(*first, *second)
    assert ("b", ["b"]) in found and ("e", ["e"]) in found  # whose request they are is not known
    # Their ids tell them apart.
    second = turn("def", 0.5, ("c3", "c4"))
    assert runs(*first, *second) == [("a", ["a", "b", "c"]), ("d", ["d", "e", "f"])]


def test_tries_of_one_request_go_on_from_the_same() -> None:
    one, two, three = turn("abc")
    failed = request("d", 2, json.loads(str(two.attributes["gen_ai.input.messages"])))
    failed.status = "error"
    assert runs(one, failed, two, three) == [("a", ["a", "b", "c", "d"])]


def test_of_several_answers_to_one_prompt_the_first_belongs_to_the_turn() -> None:
    one, two, three = turn("abc")
    again = request("d", 20, json.loads(str(two.attributes["gen_ai.input.messages"])), "I would not.")
    assert runs(again, three, two, one) == [("a", ["a", "b", "c"]), ("d", ["d"])]


def test_a_request_does_not_go_on_from_a_later_one() -> None:
    one, two, _ = turn("abc")
    one.started_at, one.ended_at = two.ended_at, two.ended_at + SECOND
    assert runs(one, two) == [("a", ["a"]), ("b", ["b"])]


def test_of_too_many_equal_histories_none_is_joined() -> None:
    equal = [turn("abc", 100 * number) for number in range(MOST_EQUAL + 1)]
    spans = []
    for number, (one, two, _) in enumerate(equal):
        one.trace_id, two.trace_id = f"a{number:031x}", f"b{number:031x}"
        spans += [one, two]
    assert len(read_runs(spans)) == 2 * len(equal)
    assert len(read_runs(spans[2:])) == len(equal) - 1
    # Nor where so many go on from one.
    one, two, _ = turn("abc")
    sampled = [request("9", 3, json.loads(str(two.attributes["gen_ai.input.messages"])), "Hm.")]
    for number in range(MOST_EQUAL + 1):
        sampled.append(replace(sampled[0], trace_id=f"b{number:031x}"))
    assert len(read_runs([one, *sampled[1:]])) == MOST_EQUAL + 2
    assert len(read_runs([one, *sampled[2:]])) == MOST_EQUAL


def test_a_retelling_may_cut_messages_otherwise_and_leave_out_thoughts() -> None:
    call = asks("weather", {"city": "Oslo"}, "c1")
    thought = {"type": "reasoning", "content": "hm"}
    first = request("a", 0, [ASKED], thought, "I look. ", call)
    retold = [ASKED, said("assistant", "I look."), said("assistant", call), returned("c1", "snow")]
    assert runs(first, request("b", 3, retold, "Yes.")) == [("a", ["a", "b"])]


@pytest.fixture
def interpreter(warehouse: EmbeddedWarehouse) -> Iterator[Interpreter]:
    running = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0))
    running.start()
    yield running
    running.stop()


def sent(span: Span) -> bytes:
    """Return the export request of a span."""
    made = otlp.Span(
        trace_id=bytes.fromhex(span.trace_id),
        span_id=bytes.fromhex(span.span_id),
        name=span.name,
        start_time_unix_nano=span.started_at,
        end_time_unix_nano=span.ended_at,
    )
    for key, value in span.attributes.items():
        told = made.attributes.add(key=key).value
        if isinstance(value, int):
            told.int_value = value
        else:
            told.string_value = str(value)
    return request_with(made).SerializeToString()


def read_in_pieces(
    store: EmbeddedStore, interpreter: Interpreter, spans: Sequence[Span]
) -> list[list[object]]:
    """Have each span read before the next one comes; return (run, its traces, steps, tool calls) as readers see them."""
    for span in spans:
        interpreter.notice(*load(store, [sent(span)]))
        assert interpreter.wait_idle(30)
    rows = store.rows(
        "SELECT run_id, trace_ids, steps, tool_calls FROM canon_runs FINAL WHERE NOT deleted ORDER BY run_id"
    )
    return [[str(run)[0], [str(t)[0] for t in traces], *rest] for run, traces, *rest in rows]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "order", [(2, 1, 0), *(pytest.param(order, marks=pytest.mark.long) for order in [(0, 1, 2), (1, 2, 0)])]
)
def test_a_turn_is_one_run_in_the_warehouse_whatever_comes_first(
    order: Sequence[int], store: EmbeddedStore, interpreter: Interpreter
) -> None:
    spans = turn("abc")
    assert read_in_pieces(store, interpreter, [spans[at] for at in order]) == [["a", ["a", "b", "c"], 3, 2]]


@pytest.mark.soak
def test_the_rows_are_the_same_in_every_order_and_when_read_again(
    store: EmbeddedStore, interpreter: Interpreter
) -> None:
    spans = [*turn("abc"), *turn("def", 100), request("9", 50, [ASKED], "Yes.")]
    read_in_pieces(store, interpreter, spans[::-1])
    before = canonical(store)
    assert {str(row[1])[0] for row in before["canon_runs"] if not row[2]} >= {"a", "d", "9"}
    read_in_pieces(store, interpreter, spans)  # each comes once more
    assert canonical(store) == before


@pytest.mark.long
def test_equal_turns_in_the_warehouse_are_told_apart(store: EmbeddedStore, interpreter: Interpreter) -> None:
    spans = [*turn("abc"), *turn("def", 100)]
    assert read_in_pieces(store, interpreter, spans) == [
        ["a", ["a", "b", "c"], 3, 2],
        ["d", ["d", "e", "f"], 3, 2],
    ]
