"""One id of several calls of an answer: calls of their own, or one call that is told twice."""

from __future__ import annotations

from collections.abc import Sequence

from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows

HI = said("user", "Hi")
A, B, C = ("search", {"q": "a"}, "call_1"), ("search", {"q": "b"}, "call_1"), ("search", {"q": "c"}, "call_2")
Call = tuple[str, object, str]


def run(asked: Sequence[Call], ran: Sequence[Call], results: Sequence[Call]) -> Rows:
    """Return a run whose model asked for calls at once; those that ran have spans, and the next prompt holds results.

    The result of a call is its place: r0, r1 …
    """
    calls = [asks(*call) for call in asked]
    executed = [
        tool(10 + n, name, arguments, f"r{n}", gen_ai__tool__call__id=call_id)
        for n, (name, arguments, call_id) in enumerate(ran)
    ]
    told = [returned(call_id, f"r{n}") for n, (_, _, call_id) in enumerate(results)]
    return rows(
        agent(),
        chat(1, [HI], *calls),
        *executed,
        chat(50, [HI, said("assistant", *calls), *told], "Done."),
    )


def calls_of(found: Rows) -> list[tuple[str | None, str | None]]:
    return [(call.arguments, call.result) for call in found.tool_calls]


def test_each_execution_of_an_id_is_that_of_the_call_that_it_fits() -> None:
    every = [('{"q":"a"}', "r0"), ('{"q":"b"}', "r1"), ('{"q":"c"}', "r2")]
    assert calls_of(run([A, B, C], [A, B, C], [A, B, C])) == every
    # Another try of the first is not the second.
    again = [call.arguments for call in run([A, B], [A, A, B], []).tool_calls]
    assert again == ['{"q":"a"}', '{"q":"a"}', '{"q":"b"}']


def test_each_result_of_an_id_was_made_by_the_execution_that_returned_it() -> None:
    found = run([A, B, C], [A, B, C], [A, B, C])
    made = [edge for edge in found.edges if edge.relation == "wasGeneratedBy" and edge.role == "result"]
    assert sorted(edge.step or 0 for edge in made) == [2, 3, 4]


def test_a_call_that_is_told_twice_in_its_answer_is_one() -> None:
    once = [('{"q":"a"}', "r0"), ('{"q":"c"}', "r1")]
    assert calls_of(run([A, A, C], [A, C], [A, C])) == once
    assert calls_of(run([A, A, C], [], [A, C])) == once


def test_calls_of_one_id_without_executions_have_their_results_in_order_or_none() -> None:
    assert calls_of(run([A, B], [], [A, B])) == [('{"q":"a"}', "r0"), ('{"q":"b"}', "r1")]
    assert calls_of(run([A, A], [], [A, A])) == [('{"q":"a"}', "r0"), ('{"q":"a"}', "r1")]
    assert calls_of(run([A, B], [], [A])) == [('{"q":"a"}', None), ('{"q":"b"}', None)]
