"""Requests in traces of their own belong to the run of the agent whose transcript retells them."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from interpret.grouping.test_turns import SECOND, interpreter, read_in_pieces, request, runs
from made_runs import asks, returned, said
from made_spans import make_span
from spans import read_runs, rows_of_spans

from retrospan.ingest.interpret.grouping.equal_histories import MOST_EQUAL
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.warehouse.embedded import EmbeddedStore

__all__ = ["interpreter"]

ASKED = said("user", "Shall I take an umbrella?")
LONG = "Take one: it will rain in Bergen all day, and in Oslo there is snow, which is wet as well. " * 2


def openai(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def transcript(call_id: str, answer: str = "Take one.") -> list[dict[str, Any]]:
    """Return what an agent keeps of a turn, as OpenAI's API tells it."""
    call = {
        "id": call_id,
        "type": "function",
        "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
    }
    return [
        openai("system", "You help."),
        openai("user", "Shall I take an umbrella?"),
        openai("assistant", "", tool_calls=[call]),
        openai("tool", "snow", tool_call_id=call_id, name="weather"),
        openai("assistant", answer),
    ]


def agent(
    trace: str, *kept: object, at: float = -1, takes: float = 20, service: str = "shop", **more: Any
) -> Span:
    """Return the only span of a trace: an agent whose value of any name prints what it keeps."""
    began = int((1_000 + at) * SECOND)
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "orla",
        **({"crew.printed": repr([{"messages": each} for each in kept])} if kept else {}),
    }
    return make_span(
        attributes,
        trace_id=trace * 32,
        started_at=began,
        ended_at=began + int(takes * SECOND),
        resource={"service.name": service},
        scope="crew",
        **more,
    )


def requests(traces: str, call_id: str, at: float = 0, answer: str = "Take one.") -> list[Span]:
    """Return the two requests of a turn, each with a trace of its own."""
    call = asks("weather", {"city": "Oslo"}, call_id)
    first = [ASKED, said("assistant", call), returned(call_id, "snow")]
    return [request(traces[0], at, [ASKED], call), request(traces[1], at + 3, first, answer)]


def test_the_requests_that_a_transcript_retells_are_of_its_run_in_whatever_order_they_come() -> None:
    spans = [agent("c", transcript("call_123456789")), *requests("ab", "call_123456789")]
    for order in permutations(spans):
        assert runs(*order) == [("c", ["a", "b", "c"])]
    (run,) = read_runs(spans)
    assert (len(run.calls.models), run.output) == (2, "Take one.")
    assert [(tool.name, tool.result, tool.call_id) for tool in run.calls.tools] == [
        ("weather", "snow", "call_123456789")
    ]
    (rows,) = rows_of_spans(spans)
    assert rows.runs[0].joined_by == ["history", "history"]


def test_each_task_of_a_crew_has_its_requests() -> None:
    spans = [
        agent("e", transcript("call_123456789"), transcript("call_987654321")),
        *requests("ab", "call_123456789"),
        *requests("cd", "call_987654321", 8),
    ]
    assert runs(*spans) == [("e", ["a", "b", "c", "d", "e"])]


def test_a_request_hangs_under_the_innermost_agent_around_it() -> None:
    crew = agent("c", transcript("call_123456789"))
    inner = agent("c", at=-0.5, takes=15, span_id="7" * 16, parent_span_id=crew.span_id)
    for around, target in (((crew, inner), inner), ((crew,), crew)):
        (run,) = read_runs([*around, *requests("ab", "call_123456789")])
        parents = {span.sent.parent_span_id for span in run.tree.spans if span.operation == "inference"}
        assert parents == {target.span_id}
    # Which of two side by side made it is not known, though one lies in the time of the other.
    other = agent("c", at=-0.4, takes=14, span_id="8" * 16, parent_span_id=crew.span_id)
    (run,) = read_runs([crew, inner, other, *requests("ab", "call_123456789")])
    parents = {span.sent.parent_span_id for span in run.tree.spans if span.operation == "inference"}
    assert parents == {crew.span_id}
    apart = replace(crew, parent_span_id="", span_id="9" * 16)
    (run,) = read_runs([crew, apart, *requests("ab", "call_123456789")])
    parents = {span.sent.parent_span_id for span in run.tree.spans if span.operation == "inference"}
    assert parents == {""}


@pytest.mark.parametrize(
    "around",
    [
        agent("c", transcript("call_123456789"), at=2),  # began later
        agent("c", transcript("call_123456789"), service="mail"),
        agent("c", transcript("call_987654321")),
        agent("c"),
    ],
)
def test_another_time_service_or_call_is_another_run(around: Span) -> None:
    assert runs(around, *requests("ab", "call_123456789")) == [("a", ["a", "b"]), ("c", ["c"])]


@pytest.mark.parametrize("call_id", ["1", "call_weather", ""])
def test_ids_that_others_may_have_join_nothing(call_id: str) -> None:
    found = runs(agent("c", transcript(call_id)), *requests("ab", call_id))
    assert ("c", ["c"]) in found


def test_where_two_agents_retell_a_request_it_is_nobodys() -> None:
    both = [agent("c", transcript("call_123456789")), agent("d", transcript("call_123456789"), at=-0.5)]
    found = runs(*both, *requests("ab", "call_123456789"))
    assert found == [("a", ["a", "b"]), ("c", ["c"]), ("d", ["d"])]


def test_an_answer_in_words_joins_nothing_for_others_are_answered_the_same() -> None:
    kept = [openai("user", "Shall I take an umbrella?"), openai("assistant", LONG)]
    assert runs(agent("c", kept), request("a", 0, [ASKED], LONG)) == [("a", ["a"]), ("c", ["c"])]


def test_of_too_many_equal_answers_none_is_joined() -> None:
    spans = []
    for number in range(MOST_EQUAL + 1):
        around = agent("c", transcript("call_123456789"), at=100 * number - 1)
        inside = requests("ab", "call_123456789", 100 * number)[0]
        around.trace_id, inside.trace_id = f"c{number:031x}", f"a{number:031x}"
        spans += [around, inside]
    assert len(read_runs(spans)) == 2 * (MOST_EQUAL + 1)
    assert len(read_runs(spans[2:])) == MOST_EQUAL


def test_a_trace_that_tells_its_requests_retells_none() -> None:
    """Two instrumentations that tell one request each are not taken for one that retells it."""
    around = agent("c", transcript("call_123456789"))
    own = request("c", 0, [ASKED], asks("weather", {"city": "Oslo"}, "call_123456789"))
    own.parent_span_id = around.span_id
    found = runs(around, own, *requests("ab", "call_123456789"))
    assert found == [("a", ["a", "b"]), ("c", ["c"])]


@pytest.mark.long
@pytest.mark.parametrize("order", range(6))
def test_it_is_one_run_in_the_warehouse_whatever_comes_first(
    order: int, store: EmbeddedStore, interpreter: Interpreter
) -> None:
    spans = [agent("c", transcript("call_123456789")), *requests("ab", "call_123456789")]
    some = [*permutations(spans)][order]
    assert read_in_pieces(store, interpreter, some) == [["c", ["a", "b", "c"], 2, 1]]


@pytest.mark.long
def test_an_agent_that_comes_last_takes_its_requests_in(
    store: EmbeddedStore, interpreter: Interpreter
) -> None:
    spans = [*requests("ab", "call_123456789"), agent("c", transcript("call_123456789"))]
    assert read_in_pieces(store, interpreter, spans) == [["c", ["a", "b", "c"], 2, 1]]
